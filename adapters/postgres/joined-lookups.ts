import { isRegistryError, type Key } from '../kit/index.ts'
import type { RecordRow } from './rows.ts'

/**
 * Statements in progress at a time. Look-ups that come meanwhile wait for one to end and are then joined in one
 * statement.
 */
const MAX_RUNNING = 3
/** Keys and log entries in one statement. A single look-up may have more. */
const MAX_LOOKUP_SIZE = 512

export interface Lookup {
  /** Keys of records. */
  readonly keys: readonly Key[]
  /** Log entries in hex, whose positions are requested. */
  readonly entries: readonly string[]
}

/** The records and positions that exist. May contain more than a single look-up requested. */
export interface LookupResult {
  readonly records: ReadonlyMap<Key, RecordRow>
  /** By log entry in hex. */
  readonly positions: ReadonlyMap<string, Buffer>
}

interface PendingLookup extends Lookup {
  readonly resolve: (result: LookupResult) => void
  readonly reject: (error: unknown) => void
}

/**
 * Joins look-ups of records and of log positions into few statements, because a round trip costs this process and the
 * database more than the data. Each look-up is part of one statement, so of one snapshot, which begins after the
 * look-up was called.
 */
export class JoinedLookups {
  readonly #runLookup: (lookup: Lookup) => Promise<LookupResult>
  #pending: PendingLookup[] = []
  readonly #running = new Set<Promise<void>>()
  #isStarting = false

  /** `runLookup` runs one statement. */
  constructor(runLookup: (lookup: Lookup) => Promise<LookupResult>) {
    this.#runLookup = runLookup
  }

  /** Throws the errors of `runLookup`. */
  lookup(lookup: Lookup): Promise<LookupResult> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ ...lookup, resolve, reject })
      this.#startSoon()
    })
  }

  /** Resolves when all look-ups have settled. */
  async settled(): Promise<void> {
    while (this.#running.size > 0 || this.#pending.length > 0) {
      await Promise.all(this.#running)
      await new Promise(setImmediate)
    }
  }

  /**
   * Starts after the current turn of the event loop, so that requests which arrived together are joined, and with them
   * the next look-ups of callers whose previous ones have just been resolved.
   */
  #startSoon(): void {
    if (this.#isStarting || this.#running.size >= MAX_RUNNING || this.#pending.length === 0) return
    this.#isStarting = true
    setImmediate(() => {
      this.#isStarting = false
      while (this.#running.size < MAX_RUNNING && this.#pending.length > 0) this.#run(this.#nextGroup())
    })
  }

  #nextGroup(): readonly PendingLookup[] {
    let size = 0
    const end = this.#pending.findIndex(
      ({ keys, entries }, i) => (size += keys.length + entries.length) > MAX_LOOKUP_SIZE && i > 0,
    )
    return this.#pending.splice(0, end === -1 ? this.#pending.length : end)
  }

  #run(group: readonly PendingLookup[]): void {
    const running = this.#settleGroup(group).finally(() => {
      this.#running.delete(running)
      this.#startSoon()
    })
    this.#running.add(running)
  }

  /** Does not throw. */
  async #settleGroup(group: readonly PendingLookup[]): Promise<void> {
    try {
      const result = await this.#runLookup({
        keys: distinct(group.flatMap(({ keys }) => keys)),
        entries: distinct(group.flatMap(({ entries }) => entries)),
      })
      for (const { resolve } of group) resolve(result)
    } catch (error) {
      // Damage to one record must fail only the look-ups of that record.
      if (group.length > 1 && isRegistryError(error, 'CORRUPT'))
        await Promise.all(group.map((lookup) => this.#settleGroup([lookup])))
      else for (const { reject } of group) reject(error)
    }
  }
}

const distinct = (values: readonly string[]): readonly string[] => [...new Set(values)]
