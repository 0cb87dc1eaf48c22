import type { Key } from '../ports/index.ts'

/**
 * One lock per key, granted in the order of the requests. Writes that conflict wait here before they try again. Without
 * it, each round of simultaneous retries would have one winner, and of 250 updates of one evidence the 101st would fail
 * after 100 rounds. The lock holds in this process only. Against other processes a write relies on its retries.
 */
export class KeyedLock {
  readonly #last = new Map<Key, Promise<void>>()

  /** Waits for the lock of a key. Returns the function that releases it. A caller may hold only one lock at a time. */
  async acquire(key: Key): Promise<() => void> {
    const previous = this.#last.get(key)
    let release = (): void => undefined
    const own = new Promise<void>((resolve) => {
      release = () => {
        if (this.#last.get(key) === own) this.#last.delete(key)
        resolve()
      }
    })
    this.#last.set(key, own)
    await previous
    return release
  }
}
