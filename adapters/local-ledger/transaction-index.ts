/**
 * Maps a transaction hash to the offset of its block's line. Keys are the first 52 bits of the hash, which takes a
 * fraction of the memory of whole hashes. Several transactions may share a key, so the caller reads each block that
 * `find` returns and compares the whole hash.
 */
export class TransactionIndex {
  /** A list only for keys that are shared: a number takes less memory. */
  readonly #offsets = new Map<number, number | readonly number[]>()

  add(hash: string, offset: number): void {
    const known = this.find(hash)
    this.#offsets.set(keyOf(hash), known.length === 0 ? offset : [...known, offset])
  }

  /** Returns the offsets of all lines that may contain the transaction. */
  find(hash: string): readonly number[] {
    const offsets = this.#offsets.get(keyOf(hash)) ?? []
    return typeof offsets === 'number' ? [offsets] : offsets
  }
}

/** 13 hex digits: the most that a number represents exactly. */
const keyOf = (hash: string): number => Number.parseInt(hash.slice(0, 13), 16)
