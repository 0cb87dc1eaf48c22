/** Positions in the log, from `start` until before `end`. */
export interface LogRange {
  readonly start: number
  readonly end: number
}

/**
 * Ranges of the log that were read, to be found again by a position. Two ranges that overlap must have the same end.
 * Drops ranges by the rule of `BoundedMap`, but finds them by binary search.
 */
export class RangeCache<R extends LogRange> {
  readonly #maxRecent: number
  #recent: R[] = []
  #previous: R[] = []

  /** @param maxRanges How many ranges are cached at most. At least 2. */
  constructor(maxRanges: number) {
    this.#maxRecent = Math.floor(maxRanges / 2)
  }

  /** The range that contains this position, `undefined` if it is not cached. */
  find(position: number): R | undefined {
    const recent = rangeAt(this.#recent, position)
    if (recent !== undefined) return recent
    const previous = rangeAt(this.#previous, position)
    if (previous !== undefined) this.add(previous)
    return previous
  }

  /** Adds a range, unless a cached one contains its start. */
  add(range: R): void {
    if (rangeAt(this.#recent, range.start) !== undefined) return
    if (this.#recent.length >= this.#maxRecent) {
      this.#previous = this.#recent
      this.#recent = []
    }
    const index = indexAfter(this.#recent, range.start)
    // A range with the same end is a part of this one.
    const replaced = this.#recent[index]?.end === range.end ? 1 : 0
    this.#recent.splice(index, replaced, range)
  }
}

function rangeAt<R extends LogRange>(ranges: readonly R[], position: number): R | undefined {
  const range = ranges[indexAfter(ranges, position)]
  return range !== undefined && range.start <= position ? range : undefined
}

/** The index of the first range that ends after this position. The ranges ascend and do not overlap. */
function indexAfter(ranges: readonly LogRange[], position: number): number {
  let [low, high] = [0, ranges.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const range = ranges[middle]
    if (range !== undefined && range.end > position) high = middle
    else low = middle + 1
  }
  return low
}
