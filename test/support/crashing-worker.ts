import type { TilesTask } from '../../sealer/engine/worker.ts'

/** A worker that crashes in its task: it exits for entries, and throws for nodes. */
export function tiles({ kind }: TilesTask): void {
  if (kind === 'entries') process.exit(1)
  throw new Error('Injected')
}
