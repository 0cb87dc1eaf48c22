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

  #deleteRecent(key: K): void {
    const value = this.#recent.get(key)
    if (value === undefined) return
    this.#recent.delete(key)
    this.#recentSize -= this.#sizeOf(value)
  }
}

/** Default of `slots`. */
const SLOTS = 16_384

/**
 * A `BoundedMap` that keeps a value from the second time on that its key is set. Of many values that are each needed
 * once, it keeps few: otherwise it would drop values that are needed again, and garbage collection would copy each of
 * them.
 */
export class SecondUseMap<K extends string, V extends object | number | string> {
  readonly #cached: BoundedMap<K, V>
  /** Hashes of keys that were set, each in its slot. Not the keys: garbage collection would copy them, too. */
  readonly #setOnce: Uint32Array

  /**
   * The first parameters are those of `BoundedMap`.
   *
   * @param slots How many keys are remembered at most whose value was set once, 4 bytes each. With many more than there
   * is room for values, values are kept that are dropped before they are needed again.
   */
  constructor(maxSize: number, sizeOf?: (value: V) => number, slots = SLOTS) {
    this.#cached = new BoundedMap(maxSize, sizeOf)
    this.#setOnce = new Uint32Array(slots)
  }

  get(key: K): V | undefined {
    return this.#cached.get(key)
  }

  /** Keeps what `make` returns if the key was set before. Otherwise remembers the key only. */
  set(key: K, make: () => V): void {
    const hash = hashOf(key)
    const slot = hash % this.#setOnce.length
    // The slot may have been taken by another key since an older value was kept.
    if (this.#setOnce[slot] === hash || this.#cached.get(key) !== undefined) this.#cached.set(key, make())
    this.#setOnce[slot] = hash
  }

  /** Drops the value of a key. */
  delete(key: K): void {
    this.#cached.delete(key)
  }
}

/** 32 bits. Two keys rarely have the same, and then one of them is kept from its first use on. */
function hashOf(key: string): number {
  let hash = 0
  for (let i = 0; i < key.length; i++) hash = (Math.imul(hash, 31) + key.charCodeAt(i)) | 0
  return hash >>> 0
}
