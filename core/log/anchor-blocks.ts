import type { RecordStore, Version } from '../ports/index.ts'
import { logKeys } from './keys.ts'
import { RangeCache, type LogRange } from '../store/cache.ts'
import { readFirstCovering } from '../store/read.ts'
import type { ConfirmedAnchorRecord } from './records.ts'

interface CoveredRange extends LogRange {
  readonly blockNumber: number
}

/** About 60 bytes each: 1.2 MB. */
const MAX_CACHED_RANGES = 20_000
/** Rows that are read together, because the ranges between the requested ones are cached, too. */
const MIN_PAGE = 8

/**
 * The blocks of the confirmed anchors by the positions that they cover. Keeps what it read until an anchor changes: a
 * list reads the blocks of a hundred positions all over the log, and a look-up of each costs more than all the rest.
 */
export class AnchorBlocks {
  readonly #records: RecordStore
  #version: Version | undefined
  #cache = new RangeCache<CoveredRange>(MAX_CACHED_RANGES)

  constructor(records: RecordStore) {
    this.#records = records
  }

  /**
   * For each position, the block of the confirmed anchor that covers it; `undefined` if there is none yet.
   *
   * @param version that of the head of the anchors, read before the call. Without it, nothing is kept
   */
  async of(positions: readonly number[], version?: Version): Promise<readonly (number | undefined)[]> {
    if (version === undefined || version !== this.#version) this.#cache = new RangeCache(MAX_CACHED_RANGES)
    this.#version = version
    // Calls with another version get another cache meanwhile.
    const cache = this.#cache
    const blocks = new Map<number, number>()
    const missing: number[] = []
    for (const position of positions) {
      const range = cache.find(position)
      if (range === undefined) missing.push(position)
      else blocks.set(position, range.blockNumber)
    }
    if (missing.length > 0)
      for (const [size, { blockNumber }] of await this.#read(missing, cache)) blocks.set(size - 1, blockNumber)
    return positions.map((position) => blocks.get(position))
  }

  #read(
    positions: readonly number[],
    cache: RangeCache<CoveredRange>,
  ): Promise<ReadonlyMap<number, ConfirmedAnchorRecord>> {
    const sizes = positions.map((position) => position + 1)
    return readFirstCovering(this.#records, sizes, {
      rangeFrom: logKeys.confirmedAnchorsFrom,
      sizeOf: ({ size }) => size,
      minPage: MIN_PAGE,
      onPage: (firstSize, anchors) => {
        let start = firstSize - 1
        for (const { size, blockNumber } of anchors) {
          cache.add({ start, end: size, blockNumber })
          start = size
        }
      },
    })
  }
}
