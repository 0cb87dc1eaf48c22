import type { RecordStore } from '../ports/index.ts'
import { BoundedMap } from '../store/cache.ts'
import { eventTimeOf, isEventOf, uuidBytes } from './payload.ts'
import { TILE_WIDTH } from './tree/tile.ts'

/** The times of rows are kept because each search reads the same ones first. About 60 bytes each: 3 MB. */
const MAX_KEPT_TIMES = 50_000

/**
 * Finds an evidence in the log by its time of creation, by binary search over the rows of the log.
 *
 * Commits that were made at the same time may be in another order than their times, at most by a few entries. A bulk
 * create takes longer, so one in a thousand evidences may not be found in this way.
 */
export class EventTimes {
  readonly #records: RecordStore
  readonly #firstTimes = new BoundedMap<number, number>(MAX_KEPT_TIMES)

  constructor(records: RecordStore) {
    this.#records = records
  }

  /** Whether the log has an event of this evidence, among those around its time of creation. */
  async holds(evidenceId: string, time: number): Promise<boolean> {
    const rows = Math.ceil((await this.#records.logSize()) / TILE_WIDTH)
    const id = uuidBytes(evidenceId)
    let [row, end] = [0, rows]
    while (row < end) {
      const middle = (row + end) >>> 1
      if ((await this.#firstTime(middle)) < time) row = middle + 1
      else end = middle
    }
    // `row` is the first one that begins at this time or later, so the row before it reaches this time.
    if (row > 0 && (await this.#isIn(row - 1, id))) return true
    for (; row < rows; row += 1) {
      if (await this.#isIn(row, id)) return true
      if ((await this.#firstTime(row)) > time) break
    }
    return false
  }

  async #isIn(row: number, evidenceId: Uint8Array): Promise<boolean> {
    return (await this.#read(row)).some((payload) => isEventOf(payload, evidenceId))
  }

  async #firstTime(row: number): Promise<number> {
    const kept = this.#firstTimes.get(row)
    if (kept !== undefined) return kept
    for (const payload of await this.#read(row)) {
      const time = eventTimeOf(payload)
      if (time === undefined) continue
      this.#firstTimes.set(row, time)
      return time
    }
    // A row without events, which is as good as never full.
    return 0
  }

  #read(row: number): Promise<readonly Uint8Array[]> {
    return this.#records.readPayloads(row * TILE_WIDTH, TILE_WIDTH)
  }
}
