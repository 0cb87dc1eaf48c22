import type { BatchRecord } from './records.ts'

/**
 * Batches that were read, to be found again by a position. A stored batch never changes, so a cached one stays correct.
 * Drops batches by the rule of `BoundedMap`, but finds them by binary search.
 */
export class BatchCache {
  readonly #maxRecent: number
  #recent: BatchRecord[] = []
  #previous: BatchRecord[] = []

  /** @param maxBatches How many batches are kept at most. At least 2. */
  constructor(maxBatches: number) {
    this.#maxRecent = Math.floor(maxBatches / 2)
  }

  /** The batch that contains this position, `undefined` if it is not cached. */
  find(position: number): BatchRecord | undefined {
    const recent = batchAt(this.#recent, position)
    if (recent !== undefined) return recent
    const previous = batchAt(this.#previous, position)
    if (previous !== undefined) this.add(previous)
    return previous
  }

  add(batch: BatchRecord): void {
    if (batchAt(this.#recent, batch.start) !== undefined) return
    if (this.#recent.length >= this.#maxRecent) {
      this.#previous = this.#recent
      this.#recent = []
    }
    this.#recent.splice(indexAfter(this.#recent, batch.start), 0, batch)
  }
}

function batchAt(batches: readonly BatchRecord[], position: number): BatchRecord | undefined {
  const batch = batches[indexAfter(batches, position)]
  return batch !== undefined && batch.start <= position ? batch : undefined
}

/** The index of the first batch that ends after this position. The batches ascend and do not overlap. */
function indexAfter(batches: readonly BatchRecord[], position: number): number {
  let [low, high] = [0, batches.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const batch = batches[middle]
    if (batch !== undefined && batch.end > position) high = middle
    else low = middle + 1
  }
  return low
}
