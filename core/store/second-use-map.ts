import { BoundedMap } from './bounded-map.ts'

/** How many keys are remembered whose value was set once. About as many as values fit into a cache of texts. */
const MAX_REMEMBERED = 16_384

/**
 * A `BoundedMap` that keeps a value from the second time on that its key is set. If each value is needed once, it keeps
 * none: otherwise it would drop values that are needed again, and garbage collection would copy each of them.
 */
export class SecondUseMap<K, V extends object | number | string> {
  readonly #kept: BoundedMap<K, V>
  readonly #setOnce = new BoundedMap<K, 1>(MAX_REMEMBERED)

  /** The parameters are those of `BoundedMap`. */
  constructor(maxSize: number, sizeOf?: (value: V) => number) {
    this.#kept = new BoundedMap(maxSize, sizeOf)
  }

  get(key: K): V | undefined {
    return this.#kept.get(key)
  }

  /** Keeps the value if the key was set before. Otherwise remembers the key only. */
  set(key: K, value: V): void {
    if (this.#setOnce.get(key) === undefined) this.#setOnce.set(key, 1)
    else this.#kept.set(key, value)
  }
}
