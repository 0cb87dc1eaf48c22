import { readU32 } from '../bytes.ts'
import type { RecordStore } from '../ports/index.ts'
import { BoundedMap } from '../store/bounded-map.ts'
import { eventTimeOf, evidenceIdEnd, isEventOf, uuidBytes } from './payload.ts'
import { TILE_WIDTH } from './tree/tile.ts'

/** Rows are cached, 3 KiB each: 12 MiB, for a million entries. So most searches read nothing. */
const MAX_CACHED_ROWS = 4_096

/** What is read of the log. */
export type PayloadReader = Pick<RecordStore, 'logSize' | 'readPayloads'>

/** The events of a row of the log, by position; 0 for every other entry. */
interface EventRow {
  readonly times: Float64Array
  /** The last four bytes of each evidence's id, which are random. */
  readonly idEnds: Uint32Array
}

/**
 * Finds times in the log by binary search over its rows, and an evidence by its time of creation.
 *
 * Commits that were made at the same time may be in another order than their times, at most by a few entries. A bulk
 * create takes longer, so some of the evidences beside it may not be found in this way.
 */
export class EventTimes {
  readonly #records: PayloadReader
  readonly #cached = new BoundedMap<number, EventRow>(MAX_CACHED_ROWS)

  constructor(records: PayloadReader) {
    this.#records = records
  }

  /** Whether the log has an event of this evidence, among those of its time of creation. */
  async holds(evidenceId: string, time: number): Promise<boolean> {
    const logSize = await this.#records.logSize()
    const rows = Math.ceil(logSize / TILE_WIDTH)
    const id = uuidBytes(evidenceId)
    const idEnd = readU32(id, 12)
    for (let row = await this.#rowBefore(time, logSize); row < rows; row += 1) {
      const events = await this.#eventsIn(row, logSize)
      for (let at = events.times.indexOf(time); at >= 0; at = events.times.indexOf(time, at + 1)) {
        if (events.idEnds[at] !== idEnd) continue
        const [payload] = await this.#records.readPayloads(row * TILE_WIDTH + at, 1)
        if (payload !== undefined && isEventOf(payload, id)) return true
      }
      if ((await this.#firstFrom(row, logSize)) > time) break
    }
    return false
  }

  /** The position of the first event of this time or later, or at most a row before it. */
  async startOf(time: number): Promise<number> {
    return (await this.#rowBefore(time, await this.#records.logSize())) * TILE_WIDTH
  }

  async #rowBefore(time: number, logSize: number): Promise<number> {
    let [row, end] = [0, Math.ceil(logSize / TILE_WIDTH)]
    while (row < end) {
      const middle = (row + end) >>> 1
      if ((await this.#firstFrom(middle, logSize)) < time) row = middle + 1
      else end = middle
    }
    // `row` is the first one that begins at this time or later, so the row before it reaches this time.
    return Math.max(0, row - 1)
  }

  /** The time of the first event of a row. If receipts of erasures fill the row, of a later one. */
  async #firstFrom(row: number, logSize: number): Promise<number> {
    const { times } = await this.#eventsIn(row, logSize)
    const isFull = times.length === TILE_WIDTH
    return times.find((time) => time > 0) ?? (isFull ? this.#firstFrom(row + 1, logSize) : Infinity)
  }

  async #eventsIn(row: number, logSize: number): Promise<EventRow> {
    const cached = this.#cached.get(row)
    // The last row grows.
    if (cached !== undefined && cached.times.length >= Math.min(TILE_WIDTH, logSize - row * TILE_WIDTH)) return cached
    const payloads = await this.#records.readPayloads(row * TILE_WIDTH, TILE_WIDTH)
    const events = {
      times: Float64Array.from(payloads, (payload) => eventTimeOf(payload) ?? 0),
      idEnds: Uint32Array.from(payloads, evidenceIdEnd),
    }
    this.#cached.set(row, events)
    return events
  }
}
