import type { Readable } from 'node:stream'
import { RegistryError } from '../kit/index.ts'
import { toRegistryError } from './errors.ts'

export interface BodyOptions {
  /** The bytes that the stream must have. */
  readonly size: number
  readonly signal: AbortSignal | undefined
  /** Called once, when the body reads no more. */
  readonly onRelease: () => void
}

/**
 * Streams an object, or a range of it, on demand. A connection that breaks, or that ends early, is an error and never a
 * shorter body. Iterate it once, one `next` at a time. It closes its connection at the end, at an error, by `return`,
 * and if the signal aborts.
 */
export class ObjectBody implements AsyncIterableIterator<Uint8Array> {
  readonly #stream: Readable
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #options: BodyOptions
  #left: number
  #isReleased = false
  readonly #onAbort = (): void => this.#release()

  constructor(stream: Readable, options: BodyOptions) {
    this.#stream = stream
    this.#chunks = stream[Symbol.asyncIterator]()
    this.#options = options
    this.#left = options.size
    options.signal?.addEventListener('abort', this.#onAbort, { once: true })
    if (this.#left === 0 || options.signal?.aborted === true) this.#release()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const { signal } = this.#options
    if (this.#left > 0) signal?.throwIfAborted()
    if (this.#isReleased) return { done: true, value: undefined }
    try {
      return { done: false, value: await this.#read() }
    } catch (error) {
      this.#release()
      signal?.throwIfAborted()
      throw toRegistryError(error, 'A stored file could not be read')
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#release()
    return { done: true, value: undefined }
  }

  async #read(): Promise<Uint8Array> {
    const { done, value } = await this.#chunks.next()
    if (done === true)
      throw new RegistryError('UNAVAILABLE', 'The object store returned fewer bytes of a file than it has; try again')
    if (value.length > this.#left)
      throw new RegistryError('CORRUPT', 'The object store returned more bytes of a file than it has')
    this.#left -= value.length
    if (this.#left === 0) this.#release()
    return value
  }

  #release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#options.signal?.removeEventListener('abort', this.#onAbort)
    this.#stream.destroy()
    this.#options.onRelease()
  }
}
