import type { Readable } from 'node:stream'
import { RegistryError, type BlobRange } from '../kit/index.ts'
import { toRegistryError } from './errors.ts'

/** How often in a row the connection is reopened without receiving a byte. */
const MAX_REOPENS = 3

export interface BodySource {
  /** The first connection, which streams the range from its start. */
  readonly stream: Readable
  readonly range: BlobRange
  /** Opens the rest of the same object. */
  readonly reopen: (range: BlobRange, signal: AbortSignal | undefined) => Promise<Readable>
  readonly signal: AbortSignal | undefined
  /** Called once, when the body reads no more. */
  readonly onRelease: () => void
}

/**
 * Streams a range of an object on demand. If the connection breaks, or is closed because its reader is slow, it is
 * reopened at the same position, because an object never changes. Iterate it once, one `next` at a time. It closes its
 * connection at the end, at an error, by `return`, and if the signal aborts.
 */
export class ObjectBody implements AsyncIterableIterator<Uint8Array> {
  readonly #source: BodySource
  readonly #end: number
  #at: number
  #stream: Readable
  #chunks: AsyncIterator<Uint8Array>
  #reopens = 0
  #isReleased = false
  readonly #onAbort = (): void => this.#release()

  constructor(source: BodySource) {
    this.#source = source
    this.#at = source.range.start
    this.#end = source.range.end
    this.#stream = source.stream
    this.#chunks = chunksOf(source.stream)
    source.signal?.addEventListener('abort', this.#onAbort, { once: true })
    if (this.#at === this.#end || source.signal?.aborted === true) this.#release()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const { signal } = this.#source
    try {
      while (this.#at < this.#end) {
        signal?.throwIfAborted()
        if (this.#isReleased) break
        const chunk = await this.#read()
        if (chunk !== undefined) return { done: false, value: chunk }
      }
    } catch (error) {
      this.#release()
      signal?.throwIfAborted()
      throw error
    }
    return { done: true, value: undefined }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#release()
    return { done: true, value: undefined }
  }

  /** Returns the next chunk, or `undefined` if the connection broke and was reopened. */
  async #read(): Promise<Uint8Array | undefined> {
    const chunk = await this.#chunks.next().then(
      (step) => (step.done === true ? truncatedError() : step.value),
      (error: unknown) => toRegistryError(error, 'A stored file could not be read'),
    )
    if (chunk instanceof RegistryError) {
      await this.#resume(chunk)
      return undefined
    }
    if (chunk.length > this.#end - this.#at)
      throw new RegistryError('CORRUPT', 'The object store returned more bytes of a file than it has')
    this.#reopens = chunk.length > 0 ? 0 : this.#reopens
    this.#at += chunk.length
    if (this.#at === this.#end) this.#release()
    return chunk
  }

  async #resume(error: RegistryError): Promise<void> {
    this.#stream.destroy()
    this.#reopens += 1
    if (this.#isReleased || this.#reopens > MAX_REOPENS) throw error
    const { reopen, signal } = this.#source
    this.#stream = await reopen({ start: this.#at, end: this.#end }, signal)
    this.#chunks = chunksOf(this.#stream)
    if (this.#isReleased) this.#stream.destroy()
  }

  #release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#source.signal?.removeEventListener('abort', this.#onAbort)
    this.#stream.destroy()
    this.#source.onRelease()
  }
}

const chunksOf = (stream: Readable): AsyncIterator<Uint8Array> => stream[Symbol.asyncIterator]()

const truncatedError = (): RegistryError =>
  new RegistryError('UNAVAILABLE', 'The object store returned fewer bytes of a file than it has; try again')
