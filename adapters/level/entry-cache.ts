import { allocate, SecondUseMap, type Entry, type Key } from '../kit/index.ts'

/** Of all cached entries together: some 4,000 evidences. */
const MAX_BYTES = 8 * 1024 * 1024

/**
 * Caches entries that are read again. Nearly every request reads the same few records (its API key, the operator's key,
 * the head of the anchors), and many evidences are read more than once; a cached entry takes less than a microsecond,
 * where LevelDB and the checksum take 3 to 10. Delete an entry from the cache before its key is written to.
 */
export class EntryCache {
  readonly #entries = new SecondUseMap<Key, Entry>(MAX_BYTES, ({ key, value }) => key.length + value.length)

  /** Returns a copy of the cached entry. */
  get(key: Key): Entry | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    const value = allocate(entry.value.length)
    value.set(entry.value)
    return { key, value, version: entry.version }
  }

  /** Stores a copy of the entry from the second time on. */
  set(entry: Entry): void {
    const { key, value, version } = entry
    // Memory of its own: a part of a shared buffer would keep the rest of the buffer as well.
    this.#entries.set(key, () => ({ key, value: new Uint8Array(value), version }))
  }

  delete(key: Key): void {
    this.#entries.delete(key)
  }
}
