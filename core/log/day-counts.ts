import { isRegistryError } from '../errors.ts'
import type { EventTimes, PayloadReader } from './event-times.ts'
import { companyOfPayload, eventTimeOf } from './payload.ts'

/** Entries that are read at once, and for one caller: so that a busy day does not hold the server. */
const [PAGE_ENTRIES, MAX_ENTRIES] = [1_024, 10_240]

/**
 * Counts the events of each company on the newest day that was asked for. It finds the beginning of the day by binary
 * search, and reads each entry of the day once for all companies.
 */
export class DayCounts {
  readonly #records: PayloadReader
  readonly #times: EventTimes
  readonly #counts = new Map<string, number>()
  #start = 0
  /** The entries before it are counted. */
  #end = 0
  #reading: Promise<boolean> | undefined

  constructor(records: PayloadReader, times: EventTimes) {
    this.#records = records
    this.#times = times
  }

  /**
   * The events of a company since the start of a day, ms since 1970. `isMore`: not all entries of the day are counted
   * yet; the next call continues.
   */
  async of(company: string, start: number): Promise<{ readonly count: number; readonly isMore: boolean }> {
    // Callers share what is read, so that no entry is counted twice.
    this.#reading ??= this.#read(start).finally(() => (this.#reading = undefined))
    const isMore = await this.#reading
    return { count: this.#counts.get(company) ?? 0, isMore }
  }

  /** Reads on in the log. Returns whether entries are left. */
  async #read(start: number): Promise<boolean> {
    const logSize = await this.#records.logSize()
    try {
      if (start !== this.#start || this.#end > logSize) {
        this.#counts.clear()
        this.#end = await this.#times.startOf(start)
        this.#start = start
      }
      const last = Math.min(logSize, this.#end + MAX_ENTRIES)
      while (this.#end < last) {
        const payloads = await this.#records.readPayloads(this.#end, Math.min(PAGE_ENTRIES, last - this.#end))
        // The log was set back.
        if (payloads.length === 0) break
        for (const payload of payloads) if ((eventTimeOf(payload) ?? 0) >= start) this.#count(payload)
        this.#end += payloads.length
      }
      return this.#end < logSize
    } catch (error) {
      // A damaged row must not fail the overview.
      if (isRegistryError(error, 'CORRUPT')) return true
      throw error
    }
  }

  #count(payload: Uint8Array): void {
    const company = companyOfPayload(payload)
    if (company !== undefined) this.#counts.set(company, (this.#counts.get(company) ?? 0) + 1)
  }
}
