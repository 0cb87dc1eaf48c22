import type { RecordStore } from '../ports/index.ts'

/** Payloads that are read first. Each later read is as long as all before it. */
const FIRST_READ = 16
const MAX_READ = 4_096

type EntryRule = (payload: Uint8Array, index: number) => boolean

/** Finds the first log entry that a rule selects. Remembers where there is none, so that this is not read again. */
export class EntrySearch {
  readonly #records: Pick<RecordStore, 'readPayloads'>
  readonly #isSelected: EntryRule
  /** None is selected from `from` to before `to`. */
  #none = { from: 0, to: 0 }

  constructor(records: Pick<RecordStore, 'readPayloads'>, isSelected: EntryRule) {
    this.#records = records
    this.#isSelected = isSelected
  }

  /**
   * @param from - log index
   * @param to - the log has this many entries or more
   * @returns the index of the first selected entry from `from` to before `to`
   */
  async first(from: number, to: number): Promise<number | undefined> {
    const none = this.#none
    const isKnown = from >= none.from && from <= none.to
    let at = isKnown ? none.to : from
    while (at < to) {
      const count = Math.min(to - at, MAX_READ, Math.max(FIRST_READ, at - from))
      const payloads = await this.#records.readPayloads(at, count)
      const found = payloads.findIndex((payload, i) => this.#isSelected(payload, at + i))
      at += found === -1 ? count : found
      this.#none = { from: isKnown ? none.from : from, to: at }
      if (found !== -1) return at
    }
    return undefined
  }
}
