import { equalBytes } from '../bytes.ts'
import type { RecordStore } from '../ports/index.ts'
import { HASH_BYTES } from './tree/hash.ts'

/** Positions in the log for the many entries of a list. */

/** They lie in one or two rows of the log. */
const WINDOW_ENTRIES = 256

/** Some consecutive entries of the log, by which their positions are found. */
export class LogWindow {
  static readonly EMPTY = new LogWindow(0, new Uint8Array())
  readonly #from: number
  readonly #entries: Uint8Array
  /** Where an entry is in `entries`, by its first bytes. Of entries with the same first bytes it has one. */
  readonly #starts = new Map<number, number>()

  /**
   * @param from - position of the first entry
   * @param entries - 32 bytes each
   */
  constructor(from: number, entries: Uint8Array) {
    this.#from = from
    this.#entries = entries
    for (let start = 0; start < entries.length; start += HASH_BYTES) this.#starts.set(firstBytes(entries, start), start)
  }

  /** A position of the entry (32 bytes), `undefined` if it is not found. */
  find(entry: Uint8Array): number | undefined {
    const start = this.#starts.get(firstBytes(entry, 0))
    if (start === undefined) return undefined
    const isEntry = equalBytes(entry, this.#entries.subarray(start, start + HASH_BYTES))
    return isEntry ? this.#from + start / HASH_BYTES : undefined
  }
}

const firstBytes = (bytes: Uint8Array, at: number): number =>
  ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0)

/** The entries around this one (32 bytes). No entries if it is not in the log. */
export async function readLogWindow(records: RecordStore, entry: Uint8Array): Promise<LogWindow> {
  const [position] = await records.positionsOf([entry])
  if (position === undefined) return LogWindow.EMPTY
  const from = Math.max(0, position - WINDOW_ENTRIES / 2)
  // A damaged row must not fail a list: look-ups of positions do not need it.
  return records.readLog(from, WINDOW_ENTRIES).then(
    (entries) => new LogWindow(from, entries),
    () => LogWindow.EMPTY,
  )
}

/**
 * A position of each entry (32 bytes), `undefined` if it is not in the log. Looks up only those that the window does
 * not have. An entry that is in the log more than once may get any of its positions.
 */
export async function positionsWithin(
  records: RecordStore,
  entries: readonly Uint8Array[],
  window: LogWindow,
): Promise<readonly (number | undefined)[]> {
  const positions = entries.map((entry) => window.find(entry))
  const others = entries.filter((_, i) => positions[i] === undefined)
  if (others.length === 0) return positions
  const lookedUp = (await records.positionsOf(others)).values()
  return positions.map((position) => position ?? lookedUp.next().value)
}
