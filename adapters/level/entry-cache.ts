import type { Entry, Key } from '../../core/ports.ts'

/** A power of two. */
const SLOTS = 256
/** Larger ones are evidences and events, of which each is asked for rarely. */
const MAX_BYTES = 512
/** Keys differ most at their ends, which are ids and hashes. */
const HASHED_CHARS = 8

/**
 * The entries last read, each in the one slot that its key has: what nearly every request reads (its API key, the operator's, the
 * head of the anchors) costs nothing, where LevelDB takes 1 to 3 µs. An entry must be dropped before its key is written to.
 */
export class EntryCache {
  readonly #slots: (Entry | undefined)[] = Array.from({ length: SLOTS }, () => undefined)

  /** With bytes of its own. */
  get(key: Key): Entry | undefined {
    const entry = this.#slots[slotOf(key)]
    return entry?.key === key ? { ...entry, value: entry.value.slice() } : undefined
  }

  note(entry: Entry): void {
    if (entry.value.length <= MAX_BYTES) this.#slots[slotOf(entry.key)] = { ...entry, value: entry.value.slice() }
  }

  drop(key: Key): void {
    this.#slots[slotOf(key)] = undefined
  }
}

function slotOf(key: Key): number {
  let hash = key.length
  for (let i = Math.max(0, key.length - HASHED_CHARS); i < key.length; i++) hash = (hash * 31 + key.charCodeAt(i)) | 0
  return hash & (SLOTS - 1)
}
