import type { SignedHead, SignedHeadKeeper } from '../../core/ports.ts'

/** The last signed size and root in memory: for tests and trials, where the records are as short-lived. */
export class MemorySignedHead implements SignedHeadKeeper {
  #head: SignedHead | undefined

  async read(): Promise<SignedHead | undefined> {
    return this.#head === undefined ? undefined : copyOf(this.#head)
  }

  async write(head: SignedHead): Promise<void> {
    this.#head = copyOf(head)
  }
}

const copyOf = ({ size, root }: SignedHead): SignedHead => ({ size, root: new Uint8Array(root) })
