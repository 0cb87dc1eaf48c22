interface Sized<V> {
  readonly value: V
  readonly bytes: number
}

/** A map that drops the entries that were not used for the longest time, so that together they stay below a size. */
export class ByteCache<K, V> {
  readonly #maxBytes: number
  // A `Map` yields its keys in the order in which they were set.
  readonly #entries = new Map<K, Sized<V>>()
  #bytes = 0

  /** @param maxBytes A value that alone is larger is not kept. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** How many bytes the entries have together, as their callers counted them. */
  get bytes(): number {
    return this.#bytes
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** Sets a value that holds about this many bytes. */
  set(key: K, value: V, bytes: number): void {
    this.#delete(key)
    if (bytes > this.#maxBytes) return
    this.#entries.set(key, { value, bytes })
    this.#bytes += bytes
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) return
      this.#delete(oldest)
    }
  }

  clear(): void {
    this.#entries.clear()
    this.#bytes = 0
  }

  #delete(key: K): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0
    this.#entries.delete(key)
  }
}
