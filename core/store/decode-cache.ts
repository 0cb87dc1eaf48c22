import type { Entry, Key, Version } from '../ports.ts'

/**
 * Decodes records that are read again and again, each version once. It remembers nothing of the store: whoever asks brings
 * the entry that was just read, and a version is never used twice, so what was decoded of it stays true.
 */
export class DecodeCache<T> {
  readonly #decode: (entry: Entry) => T
  readonly #max: number
  #known = new Map<Key, { readonly version: Version; readonly record: T }>()

  /** Where `max` keys are known it begins anew: what is read often is soon back. */
  constructor(max: number, decode: (entry: Entry) => T) {
    this.#max = max
    this.#decode = decode
  }

  /** The same object each time: not to be changed. Throws what decoding throws. */
  of(entry: Entry): T {
    const { key, version } = entry
    const known = this.#known.get(key)
    if (known?.version === version) return known.record
    const record = this.#decode(entry)
    if (known === undefined && this.#known.size >= this.#max) this.#known = new Map()
    this.#known.set(key, { version, record })
    return record
  }
}
