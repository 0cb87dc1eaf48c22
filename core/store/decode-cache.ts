import type { Entry, Key, Version } from '../ports/index.ts'
import { BoundedMap } from './bounded-map.ts'

/**
 * Decodes each version of a record once, for records that are read again and again. It does not read the store: the
 * caller passes the entry that it has just read. A version is never used twice, so a decoded record stays correct.
 */
export class DecodeCache<T> {
  readonly #decode: (entry: Entry) => T
  readonly #decoded: BoundedMap<Key, { readonly version: Version; readonly record: T }>

  /** @param maxKeys How many keys are kept at most. At least 2. */
  constructor(maxKeys: number, decode: (entry: Entry) => T) {
    this.#decode = decode
    this.#decoded = new BoundedMap(maxKeys)
  }

  /** Returns the same object for the same version, so it must not be changed. Throws what `decode` throws. */
  of(entry: Entry): T {
    const { key, version } = entry
    const cached = this.#decoded.get(key)
    if (cached?.version === version) return cached.record
    const record = this.#decode(entry)
    this.#decoded.set(key, { version, record })
    return record
  }
}
