import { BoundedMap } from './bounded-map.ts'

/** Default of `slots`. */
const SLOTS = 16_384

/**
 * A `BoundedMap` that keeps a value from the second time on that its key is set. Of many values that are each needed
 * once, it keeps few: otherwise it would drop values that are needed again, and garbage collection would copy each of
 * them.
 */
export class SecondUseMap<K extends string, V extends object | number | string> {
  readonly #kept: BoundedMap<K, V>
  /** Hashes of keys that were set, each in its slot. Not the keys: garbage collection would copy them, too. */
  readonly #setOnce: Uint32Array

  /**
   * The first parameters are those of `BoundedMap`.
   *
   * @param slots How many keys are remembered at most whose value was set once, 4 bytes each. With many more than there
   * is room for values, values are kept that are dropped before they are needed again.
   */
  constructor(maxSize: number, sizeOf?: (value: V) => number, slots = SLOTS) {
    this.#kept = new BoundedMap(maxSize, sizeOf)
    this.#setOnce = new Uint32Array(slots)
  }

  get(key: K): V | undefined {
    return this.#kept.get(key)
  }

  /** Keeps what `make` returns if the key was set before. Otherwise remembers the key only. */
  set(key: K, make: () => V): void {
    const hash = hashOf(key)
    const slot = hash % this.#setOnce.length
    // The slot may have been taken by another key since an older value was kept.
    if (this.#setOnce[slot] === hash || this.#kept.get(key) !== undefined) this.#kept.set(key, make())
    this.#setOnce[slot] = hash
  }

  /** Drops the value of a key. */
  delete(key: K): void {
    this.#kept.delete(key)
  }
}

/** 32 bits. Two keys rarely have the same, and then one of them is kept from its first use on. */
function hashOf(key: string): number {
  let hash = 0
  for (let i = 0; i < key.length; i++) hash = (Math.imul(hash, 31) + key.charCodeAt(i)) | 0
  return hash >>> 0
}
