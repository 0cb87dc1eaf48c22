/**
 * A map of bounded size that drops the entries that were not used for the longest time. It keeps two generations:
 * entries that were read or written recently, and those of the generation before. When the recent generation is full,
 * it becomes the previous one, and the old previous one is dropped. So reading a recent entry is one `Map` look-up,
 * without the bookkeeping of an exact least-recently-used list.
 */
export class BoundedMap<K, V extends object | number | string> {
  readonly #maxRecent: number
  readonly #sizeOf: (value: V) => number
  #recent = new Map<K, V>()
  #recentSize = 0
  #previous = new Map<K, V>()

  /**
   * @param maxSize The values never have more than this together. At least 2. Throws a `RangeError` otherwise.
   * @param sizeOf What a value counts; it must not change. Default: 1, so that `maxSize` is a number of entries. A
   * value of more than half of `maxSize` is not kept.
   */
  constructor(maxSize: number, sizeOf: (value: V) => number = () => 1) {
    if (!Number.isSafeInteger(maxSize) || maxSize < 2)
      throw new RangeError(`maxSize must be a whole number from 2, got ${maxSize}`)
    this.#maxRecent = Math.floor(maxSize / 2)
    this.#sizeOf = sizeOf
  }

  get(key: K): V | undefined {
    const recent = this.#recent.get(key)
    if (recent !== undefined) return recent
    const previous = this.#previous.get(key)
    if (previous !== undefined) this.set(key, previous)
    return previous
  }

  set(key: K, value: V): void {
    const size = this.#sizeOf(value)
    this.#deleteRecent(key)
    if (size > this.#maxRecent) {
      this.#previous.delete(key)
      return
    }
    if (this.#recentSize + size > this.#maxRecent) {
      this.#previous = this.#recent
      this.#recent = new Map()
      this.#recentSize = 0
    }
    this.#recent.set(key, value)
    this.#recentSize += size
  }

  delete(key: K): void {
    this.#deleteRecent(key)
    this.#previous.delete(key)
  }

  clear(): void {
    this.#recent.clear()
    this.#recentSize = 0
    this.#previous.clear()
  }

  #deleteRecent(key: K): void {
    const value = this.#recent.get(key)
    if (value === undefined) return
    this.#recent.delete(key)
    this.#recentSize -= this.#sizeOf(value)
  }
}
