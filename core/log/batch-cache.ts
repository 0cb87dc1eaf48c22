import type { BatchRecord } from './records.ts'

/** Batches that were read, to be found again by a position. A stored batch never changes, so what is known stays true. */
export class BatchCache {
  readonly #max: number
  /** By rising `end`; they do not overlap. */
  #batches: BatchRecord[] = []

  constructor(max: number) {
    this.#max = max
  }

  /** The batch that holds this position, if it is known. */
  holding(position: number): BatchRecord | undefined {
    const batch = this.#batches[this.#after(position)]
    return batch !== undefined && batch.start <= position ? batch : undefined
  }

  /** Where it is full it begins anew: what is asked for often is soon back. */
  note(batch: BatchRecord): void {
    const at = this.#after(batch.end - 1)
    if (this.#batches[at]?.end === batch.end) return
    if (this.#batches.length < this.#max) this.#batches.splice(at, 0, batch)
    else this.#batches = [batch]
  }

  /** The index of the first batch that ends behind this position. */
  #after(position: number): number {
    let [low, high] = [0, this.#batches.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#batches[middle] as BatchRecord).end > position) high = middle
      else low = middle + 1
    }
    return low
  }
}
