/**
 * A fixed number of equal pieces of shared memory, made when they are first needed and used again. Who wants one where all are
 * taken waits, in the order in which it came.
 */
export class BufferPool {
  readonly #bufferBytes: number
  readonly #free: Uint8Array[] = []
  readonly #waiting: ((slot: Uint8Array) => void)[] = []
  #unallocated: number

  constructor(count: number, slotBytes: number) {
    this.#unallocated = count
    this.#bufferBytes = slotBytes
  }

  /** A slot that is nobody else's until it is given back; what it holds is left over. */
  async acquire(): Promise<Uint8Array> {
    const free = this.#free.pop()
    if (free !== undefined) return free
    if (this.#unallocated === 0) return new Promise((resolve) => this.#waiting.push(resolve))
    this.#unallocated--
    return new Uint8Array(new SharedArrayBuffer(this.#bufferBytes))
  }

  release(slot: Uint8Array): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free.push(slot)
    else next(slot)
  }
}
