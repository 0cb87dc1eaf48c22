import { Background } from '../background.ts'
import { sweep } from '../store/blob-lifecycle.ts'
import type { Context } from './context.ts'

const INTERVAL_MS = 10 * 60_000
const ABANDONED_MS = 24 * 60 * 60_000

/**
 * Sweeps now, and then every ten minutes. An upload that is a day old is abandoned. If no other process uses the
 * stores, every upload from before this start is, too, because the process that began it is gone. Also requests the
 * erasures of deletions by other processes, and of those whose outcome was unknown.
 */
export function startSweeping(context: Context, { sharedRecords }: { readonly sharedRecords: boolean }): Background {
  const { clock, logger, erasures } = context
  const sweeping = new Background({
    clock,
    logger,
    failure: 'the sweep failed; it runs again in ten minutes',
    delayMs: INTERVAL_MS,
    async run(signal) {
      erasures.request()
      await sweep(context, { before: clock.now() - ABANDONED_MS, isAlone: !sharedRecords, signal })
      return true
    },
  })
  void sweeping.runNow()
  return sweeping
}
