import type { Key } from '../ports.ts'

/**
 * Lets those that wait for the same key go one at a time, in the order they came. Writes that conflict take turns here
 * before they decide anew: if all went on at once, each round would have one winner, so of 250 updates of one evidence
 * the 101st gave up after 100 rounds. Other processes are not seen; against them the retry alone counts.
 */
export class KeyedLock {
  readonly #last = new Map<Key, Promise<void>>()

  /** Waits for the turn; answers how to end it, which must be called. Hold one at a time. */
  async acquire(key: Key): Promise<() => void> {
    const before = this.#last.get(key)
    let end = (): void => undefined
    const own = new Promise<void>((resolve) => {
      end = () => {
        if (this.#last.get(key) === own) this.#last.delete(key)
        resolve()
      }
    })
    this.#last.set(key, own)
    await before
    return end
  }
}
