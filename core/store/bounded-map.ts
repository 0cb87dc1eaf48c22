/**
 * A map of bounded size that drops the entries that were not used for the longest time. It keeps two generations:
 * entries that were read or written recently, and those of the generation before. When the recent generation is full,
 * it becomes the previous one, and the old previous one is dropped. So reading a recent entry is one `Map` look-up,
 * without the bookkeeping of an exact least-recently-used list.
 */
export class BoundedMap<K, V extends object | number> {
  readonly #maxRecent: number
  #recent = new Map<K, V>()
  #previous = new Map<K, V>()

  /** @param maxEntries The map never holds more entries than this. At least 2. Throws a `RangeError` otherwise. */
  constructor(maxEntries: number) {
    if (!Number.isSafeInteger(maxEntries) || maxEntries < 2)
      throw new RangeError(`maxEntries must be a whole number from 2, got ${maxEntries}`)
    this.#maxRecent = Math.floor(maxEntries / 2)
  }

  get(key: K): V | undefined {
    const recent = this.#recent.get(key)
    if (recent !== undefined) return recent
    const previous = this.#previous.get(key)
    if (previous !== undefined) this.set(key, previous)
    return previous
  }

  set(key: K, value: V): void {
    if (this.#recent.size >= this.#maxRecent && !this.#recent.has(key)) {
      this.#previous = this.#recent
      this.#recent = new Map()
    }
    this.#recent.set(key, value)
  }
}
