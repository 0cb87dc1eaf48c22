import type { SignedHead, SignedHeadKeeper } from '../kit/index.ts'

/**
 * Keeps the last signed size and root in memory, for tests and trials, where the records are in memory as well.
 *
 * @example
 * ```ts
 * import { MemorySignedHead } from 'evidence-registry/adapters/memory'
 *
 * const keeper = new MemorySignedHead()
 * ```
 */
export class MemorySignedHead implements SignedHeadKeeper {
  #head: SignedHead | undefined

  async read(): Promise<SignedHead | undefined> {
    return this.#head === undefined ? undefined : copyOf(this.#head)
  }

  async write(head: SignedHead): Promise<void> {
    this.#head = copyOf(head)
  }
}

const copyOf = (head: SignedHead): SignedHead => ({ ...head, root: new Uint8Array(head.root) })
