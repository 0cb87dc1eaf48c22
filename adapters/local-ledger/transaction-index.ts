/**
 * Where each transaction's block begins, by the first 52 bits of its hash: some tens of bytes each in memory instead of the whole hash. A
 * prefix may lead to several offsets, so who looks one up reads the block and compares the whole hash.
 */
export class TransactionIndex {
  readonly #offsets = new Map<number, number | readonly number[]>()

  add(hash: string, offset: number): void {
    const prefix = prefixOf(hash)
    const known = this.#offsets.get(prefix)
    if (known === undefined) this.#offsets.set(prefix, offset)
    else this.#offsets.set(prefix, typeof known === 'number' ? [known, offset] : [...known, offset])
  }

  /** Offsets of the blocks that may hold it. */
  find(hash: string): readonly number[] {
    const found = this.#offsets.get(prefixOf(hash))
    return found === undefined ? [] : typeof found === 'number' ? [found] : found
  }
}

/** 13 hex digits: the most that a number holds exactly. */
const prefixOf = (hash: string): number => Number.parseInt(hash.slice(0, 13), 16)
