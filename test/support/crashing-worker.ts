import type { TilesTask } from '../../sealer/engine/worker.ts'

/** Crashes: it exits for entries, and throws for nodes. */
export function tiles({ kind }: TilesTask): void {
  if (kind === 'entries') process.exit(1)
  throw new Error('Injected')
}

/** Exits, as if the thread had run out of memory. */
export function evidences(): void {
  process.exit(1)
}
