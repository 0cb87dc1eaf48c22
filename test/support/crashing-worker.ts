import type { TilesTask } from '../../sealer/engine/worker.ts'

/** A worker that ends in the middle of its task: by itself for entries, by an error for nodes. */
export function tiles({ kind }: TilesTask): void {
  if (kind === 'entries') process.exit(1)
  throw new Error('Injected')
}
