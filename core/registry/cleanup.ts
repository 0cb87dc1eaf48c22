import { Background } from '../background.ts'
import { sweep, type BlobContext } from '../store/blob-lifecycle.ts'

const SWEEP_INTERVAL_MS = 10 * 60_000
const ABANDONED_MS = 24 * 60 * 60_000

/**
 * Sweeps now, and then every ten minutes. An upload that is a day old is abandoned. If no other process than `process`
 * uses the stores, every upload from before this start is, too, because the process that began it is gone. Also
 * requests tasks of other processes, and those whose outcome was unknown: erasures from the disk, and of subjects.
 */
export function startSweeping(
  context: BlobContext,
  { tasks, process }: { readonly tasks: readonly { request(): void }[]; readonly process: string | undefined },
): Background {
  const { clock, logger } = context
  const sweeping = new Background({
    clock,
    logger,
    failure: 'the sweep failed; it runs again in ten minutes',
    retryMs: () => SWEEP_INTERVAL_MS,
    async run(signal) {
      for (const task of tasks) task.request()
      await sweep(context, { before: clock.now() - ABANDONED_MS, process, signal })
      return SWEEP_INTERVAL_MS
    },
  })
  void sweeping.runNow()
  return sweeping
}
