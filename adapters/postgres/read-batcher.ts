import type { Key } from '../../core/ports.ts'
import { isPassing } from './errors.ts'
import type { RecordRow } from './rows.ts'

/** Statements under way at a time; a look-up that comes meanwhile waits for one to end, and goes with all others that wait. */
const MAX_RUNNING = 3
/** Keys and entries in one statement; a single look-up may have more. */
const MAX_WANTED = 512

export interface Wanted {
  readonly keys: readonly Key[]
  /** Of the log, in hex. */
  readonly entries: readonly string[]
}

/** What is there of it, perhaps with more than was asked for. */
export interface Found {
  readonly records: ReadonlyMap<Key, RecordRow>
  readonly positions: ReadonlyMap<string, number>
}

interface Waiting extends Wanted {
  readonly resolve: (found: Found) => void
  readonly reject: (error: unknown) => void
}

/**
 * Joins look-ups of records and of positions, each of which begins after it was called and is answered from one statement, so from one
 * snapshot. A round trip costs this process and the database more than what it brings.
 */
export class ReadBatcher {
  readonly #look: (wanted: Wanted) => Promise<Found>
  #waiting: Waiting[] = []
  readonly #running = new Set<Promise<void>>()
  #isStarting = false

  constructor(look: (wanted: Wanted) => Promise<Found>) {
    this.#look = look
  }

  /** What is there of it. Throws as `look` does. */
  find(wanted: Wanted): Promise<Found> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...wanted, resolve, reject })
      this.#startSoon()
    })
  }

  /** When all that was called has its answer. */
  async settled(): Promise<void> {
    while (this.#running.size > 0 || this.#waiting.length > 0) {
      await Promise.all(this.#running)
      await new Promise(setImmediate)
    }
  }

  /** After what this turn of the event loop brings: requests that came together, and what those ask next that were just answered. */
  #startSoon(): void {
    if (this.#isStarting || this.#running.size >= MAX_RUNNING || this.#waiting.length === 0) return
    this.#isStarting = true
    setImmediate(() => {
      this.#isStarting = false
      while (this.#running.size < MAX_RUNNING && this.#waiting.length > 0) this.#run(this.#takeGroup())
    })
  }

  #takeGroup(): readonly Waiting[] {
    let size = 0
    const end = this.#waiting.findIndex(
      ({ keys, entries }, i) => (size += keys.length + entries.length) > MAX_WANTED && i > 0,
    )
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end)
  }

  #run(group: readonly Waiting[]): void {
    const running = this.#answer(group).finally(() => {
      this.#running.delete(running)
      this.#startSoon()
    })
    this.#running.add(running)
  }

  /** Does not throw. */
  async #answer(group: readonly Waiting[]): Promise<void> {
    try {
      const found = await this.#look({
        keys: distinct(group.flatMap(({ keys }) => keys)),
        entries: distinct(group.flatMap(({ entries }) => entries)),
      })
      for (const { resolve } of group) resolve(found)
    } catch (error) {
      if (group.length > 1 && isOfOne(error)) await Promise.all(group.map((one) => this.#answer([one])))
      else for (const { reject } of group) reject(error)
    }
  }
}

const distinct = (values: readonly string[]): readonly string[] => [...new Set(values)]

/** True for what does not pass by itself, such as damage to one record: only those that asked for that shall be told. */
const isOfOne = (error: unknown): boolean => error instanceof Error && !isPassing(error.cause)
