import type { Entry } from '../ports/index.ts'
import { partsOfKey } from '../store/key.ts'
import { keys } from '../store/keys.ts'
import type { Check } from './check.ts'

/** Reads all events from version 2 in the order of their keys, which is by evidence and then by version. */
export class EventWalk {
  readonly #check: Check
  readonly #pages: AsyncIterator<readonly Entry[]>
  #page: readonly Entry[] = []
  #at = 0

  constructor(check: Check) {
    this.#check = check
    this.#pages = check.pages(keys.laterEvents())
  }

  /** Skips events before those of this evidence (`undefined`: all), and reports them: their evidence is missing. */
  async skipTo(evidenceId: string | undefined): Promise<void> {
    for (;;) {
      const entry = await this.#peek()
      if (entry === undefined || (evidenceId !== undefined && evidenceIdOf(entry) >= evidenceId)) return
      this.#check.report('event', entry.key, 'The evidence of this event is missing')
      this.#at += 1
    }
  }

  /** The later events of the evidence that comes next, at most a page at a time. */
  async *eventsOf(evidenceId: string): AsyncGenerator<readonly Entry[], void, undefined> {
    for (;;) {
      const events: Entry[] = []
      for (let entry = await this.#peek(); entry !== undefined && evidenceIdOf(entry) === evidenceId;) {
        events.push(entry)
        this.#at += 1
        entry = this.#page[this.#at]
      }
      if (events.length === 0) return
      yield events
    }
  }

  async #peek(): Promise<Entry | undefined> {
    if (this.#at === this.#page.length) {
      const { value, done } = await this.#pages.next()
      this.#page = done === true ? [] : value
      this.#at = 0
    }
    return this.#page[this.#at]
  }
}

const evidenceIdOf = ({ key }: Entry): string => partsOfKey(key)[1] ?? ''
