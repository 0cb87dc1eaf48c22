import { sweep } from '../store/blob-lifecycle.ts'
import type { Context } from './context.ts'

const INTERVAL_MS = 10 * 60_000
const ABANDONED_MS = 24 * 60 * 60_000

/**
 * Sweeps now, and then every ten minutes. An upload that is a day old is abandoned. If no other process uses the
 * stores, every upload from before this start is, too, because the process that began it is gone.
 */
export function startSweeping(
  context: Context,
  { sharedRecords }: { readonly sharedRecords: boolean },
): { stop(): Promise<void> } {
  const aborter = new AbortController()
  const { signal } = aborter
  const run = async (): Promise<void> => {
    do await sweepOnce(context, !sharedRecords, signal)
    while (await slept(context, signal))
  }
  const done = run()
  return {
    async stop() {
      aborter.abort()
      await done
    },
  }
}

async function sweepOnce(context: Context, isAlone: boolean, signal: AbortSignal): Promise<void> {
  try {
    await sweep(context, { before: context.clock.now() - ABANDONED_MS, isAlone, signal })
  } catch (err) {
    context.logger.warn({ err }, 'the sweep failed; it runs again in ten minutes')
  }
}

/** Waits for the next sweep. False if there is none, because the registry is closing. */
async function slept({ clock }: Context, signal: AbortSignal): Promise<boolean> {
  await clock.sleep(INTERVAL_MS, signal).catch(() => undefined)
  return !signal.aborted
}
