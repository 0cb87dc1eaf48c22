import type { RecordStore } from '../../core/index.ts'
import { partsOfKey } from '../../core/store/keys.ts'

/** Notes the reads of a record store with the families of their keys, such as `get ev ev` and `list el`. */
export class WatchedCalls {
  #calls: string[] = []

  /** Members for `decorateRecords`. */
  of(records: RecordStore): Pick<RecordStore, 'get' | 'list'> {
    const note = (...call: readonly string[]): void => void this.#calls.push(call.join(' '))
    const familyOf = (key: string): string => partsOfKey(key)[0] ?? ''
    return {
      get(keys) {
        note('get', ...keys.map(familyOf))
        return records.get(keys)
      },
      list(range) {
        note('list', familyOf(range.gte))
        return records.list(range)
      },
    }
  }

  /** The reads during an action. */
  async during(action: () => Promise<unknown>): Promise<readonly string[]> {
    const calls: string[] = (this.#calls = [])
    await action()
    return calls
  }
}
