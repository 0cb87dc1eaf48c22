import { keys } from '../store/keys.ts'
import type { Entry } from '../ports.ts'
import type { Check } from './check.ts'
import { partsOfKey } from '../store/key.ts'

/** Events in pages, grouped by their evidence as they are asked for. */
export class EventWalk {
  readonly #check: Check
  readonly #pages: AsyncIterator<readonly Entry[]>
  #page: readonly Entry[] = []
  #at = 0

  constructor(check: Check) {
    this.#check = check
    this.#pages = check.pages(keys.allEvents())
  }

  /** Events before this evidence's belong to none that is there. */
  async skipTo(id: string | undefined): Promise<void> {
    for (;;) {
      const entry = await this.#peek()
      if (entry === undefined || (id !== undefined && idOf(entry) >= id)) return
      this.#check.differ('event', entry.key, 'The evidence of this event is missing')
      this.#at += 1
    }
  }

  /** The events of an evidence that stands next, a page's worth at a time. */
  async *of(id: string): AsyncGenerator<readonly Entry[], void, undefined> {
    for (;;) {
      const group: Entry[] = []
      for (let entry = await this.#peek(); entry !== undefined && idOf(entry) === id;) {
        group.push(entry)
        this.#at += 1
        entry = this.#page[this.#at]
      }
      if (group.length === 0) return
      yield group
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

const idOf = ({ key }: Entry): string => partsOfKey(key)[1] ?? ''
