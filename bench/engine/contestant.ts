/** Counts the hashes of proofs, and looks into each. */
export class Taken {
  count = 0
  #sum = 0

  /** What a proof's item is in memory, and where its hash begins in it. */
  take(hash: Uint8Array | string, at = 0): void {
    this.count++
    this.#sum = (this.#sum + (typeof hash === 'string' ? hash.charCodeAt(at + 2) : (hash[at] as number))) | 0
  }

  /** Of the first bytes. */
  get sum(): number {
    return this.#sum
  }
}

/** A tree over entries of 32 bytes, and all of its inclusion proofs. */
export interface Tree {
  /** Lowercase hex. */
  readonly root: string
  /** What must be in place before proofs are asked for, and is no part of making them. */
  prepare?(): Promise<void>
  /** Makes the proof of every leaf, and takes each of its hashes: a proof that nobody looks at need not be made. Keeps none. */
  proofs(taken: Taken): Promise<void>
}

export interface Contestant {
  readonly name: string
  /** Where it does not build the tree of RFC 6962 that all others do, what it builds. */
  readonly otherwise?: string
  /** `entries`: n × 32 bytes, n a power of two. */
  build(entries: Uint8Array): Promise<Tree>
  close?(): Promise<void>
}

export const HASH = 32

export const countOf = (entries: Uint8Array): number => entries.length / HASH

/** Each entry as a Buffer of its own view. */
export const eachEntry = (entries: Uint8Array): Buffer[] =>
  Array.from({ length: countOf(entries) }, (_, i) => Buffer.from(entries.buffer, entries.byteOffset + i * HASH, HASH))
