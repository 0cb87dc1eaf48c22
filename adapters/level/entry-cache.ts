import { allocate, type Entry, type Key } from '../kit/index.ts'

/** Must be a power of two. */
const SLOTS = 256
/** Larger entries are evidences and events. Each of those is read rarely. */
const MAX_VALUE_BYTES = 512
/** Only the last characters of a key are hashed: keys end with ids and hashes, so they differ most there. */
const HASHED_CHARS = 8

/**
 * Caches the entries read last, each in the one slot of its key. Nearly every request reads the same few records (its
 * API key, the operator's key, the head of the anchors); a cached one costs nothing, where LevelDB takes 1 to 3 µs.
 * Delete an entry from the cache before its key is written to.
 */
export class EntryCache {
  readonly #slots: (Entry | undefined)[] = Array.from({ length: SLOTS }, () => undefined)

  /** Returns a copy of the cached entry. */
  get(key: Key): Entry | undefined {
    const entry = this.#slots[slotOf(key)]
    return entry?.key === key ? copyOf(entry) : undefined
  }

  /** Stores a copy of the entry, unless its value is larger than 512 bytes. */
  set(entry: Entry): void {
    if (entry.value.length <= MAX_VALUE_BYTES) this.#slots[slotOf(entry.key)] = copyOf(entry)
  }

  delete(key: Key): void {
    this.#slots[slotOf(key)] = undefined
  }
}

function copyOf({ key, value, version }: Entry): Entry {
  const copy = allocate(value.length)
  copy.set(value)
  return { key, value: copy, version }
}

function slotOf(key: Key): number {
  let hash = key.length
  for (let i = Math.max(0, key.length - HASHED_CHARS); i < key.length; i++) hash = (hash * 31 + key.charCodeAt(i)) | 0
  return hash & (SLOTS - 1)
}
