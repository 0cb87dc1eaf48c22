/**
 * A fixed number of equal buffers in shared memory. A buffer is allocated when it is first needed, and reused. If all
 * are in use, callers wait in the order of their calls.
 */
export class BufferPool {
  readonly #bufferBytes: number
  readonly #free: Uint8Array[] = []
  readonly #waiting: ((buffer: Uint8Array) => void)[] = []
  #unallocated: number

  constructor(count: number, bufferBytes: number) {
    this.#unallocated = count
    this.#bufferBytes = bufferBytes
  }

  /** Returns a buffer for the caller alone, until it is released. It is not cleared. */
  async acquire(): Promise<Uint8Array> {
    const free = this.#free.pop()
    if (free !== undefined) return free
    if (this.#unallocated === 0) return new Promise((resolve) => this.#waiting.push(resolve))
    this.#unallocated--
    return new Uint8Array(new SharedArrayBuffer(this.#bufferBytes))
  }

  release(buffer: Uint8Array): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free.push(buffer)
    else next(buffer)
  }
}
