import type { RecordStore } from '../ports/index.ts'
import { BoundedMap } from '../store/cache.ts'
import { eventTimeOf, isEventOf, uuidBytes } from './payload.ts'
import { TILE_WIDTH } from './tree/tile.ts'

/** The times of rows are kept, 2 KiB each: 8 MiB, for a million entries. So most searches read nothing. */
const MAX_KEPT_ROWS = 4_096

/**
 * Finds an evidence in the log by its time of creation, by binary search over the rows of the log.
 *
 * Commits that were made at the same time may be in another order than their times, at most by a few entries. A bulk
 * create takes longer, so some of the evidences beside it may not be found in this way.
 */
export class EventTimes {
  readonly #records: RecordStore
  readonly #kept = new BoundedMap<number, Float64Array>(MAX_KEPT_ROWS)

  constructor(records: RecordStore) {
    this.#records = records
  }

  /** Whether the log has an event of this evidence, among those of its time of creation. */
  async holds(evidenceId: string, time: number): Promise<boolean> {
    const rows = Math.ceil((await this.#records.logSize()) / TILE_WIDTH)
    const id = uuidBytes(evidenceId)
    let [row, end] = [0, rows]
    while (row < end) {
      const middle = (row + end) >>> 1
      if (firstOf(await this.#timesIn(middle)) < time) row = middle + 1
      else end = middle
    }
    // `row` is the first one that begins at this time or later, so the row before it reaches this time.
    for (row = Math.max(0, row - 1); row < rows; row += 1) {
      const times = await this.#timesIn(row)
      if (times.includes(time) && (await this.#read(row)).some((payload) => isEventOf(payload, id))) return true
      if (firstOf(times) > time) break
    }
    return false
  }

  /** The times of the events in a row; of a key or a token 0. */
  async #timesIn(row: number): Promise<Float64Array> {
    const kept = this.#kept.get(row)
    if (kept !== undefined) return kept
    const times = Float64Array.from(await this.#read(row), (payload) => eventTimeOf(payload) ?? 0)
    // The last row grows.
    if (times.length === TILE_WIDTH) this.#kept.set(row, times)
    return times
  }

  #read(row: number): Promise<readonly Uint8Array[]> {
    return this.#records.readPayloads(row * TILE_WIDTH, TILE_WIDTH)
  }
}

/** A row without events, which is as good as never full, comes before all others. */
const firstOf = (times: Float64Array): number => times.find((time) => time > 0) ?? 0
