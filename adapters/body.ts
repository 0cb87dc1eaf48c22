/** Where the bytes of a body come from. */
export interface ByteSource {
  /** The next bytes: at least one, and at most `left`. */
  readonly read: (left: number) => Promise<Uint8Array>
  /** Closes the source. Called once. Never throws. */
  readonly release: () => Promise<void> | void
}

/**
 * Streams a known number of bytes, without reading ahead. Iterate it once, one `next` at a time. The source is released
 * at the end, at the first error, by `return` (also before the first `next`), and if the signal aborts.
 */
export class SourceBody implements AsyncIterableIterator<Uint8Array> {
  readonly #source: ByteSource
  readonly #signal: AbortSignal | undefined
  #left: number
  #isReleased = false
  readonly #onAbort = (): void => void this.#release()

  /** Takes ownership of the source, which must have `size` bytes. */
  constructor(source: ByteSource, size: number, signal: AbortSignal | undefined) {
    this.#source = source
    this.#left = size
    this.#signal = signal
    signal?.addEventListener('abort', this.#onAbort, { once: true })
    if (size === 0 || signal?.aborted === true) void this.#release()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#left > 0) this.#signal?.throwIfAborted()
    if (this.#isReleased) return { done: true, value: undefined }
    try {
      const bytes = await this.#source.read(this.#left)
      this.#left -= bytes.length
      if (this.#left === 0) await this.#release()
      return { done: false, value: bytes }
    } catch (error) {
      await this.#release()
      this.#signal?.throwIfAborted()
      throw error
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    await this.#release()
    return { done: true, value: undefined }
  }

  async #release(): Promise<void> {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#signal?.removeEventListener('abort', this.#onAbort)
    await this.#source.release()
  }
}
