import type { Readable } from 'node:stream'
import { RegistryError } from '../../core/errors.ts'
import type { BlobRange } from '../../core/ports.ts'
import { toRegistryError } from './errors.ts'

/** Connections that are opened again one after the other without a byte from any. */
const MAX_REOPENED = 3

export interface BodySource {
  /** The first connection, which gives the range from its start. */
  readonly stream: Readable
  readonly range: BlobRange
  /** Opens what is left of the same object. */
  readonly reopen: (range: BlobRange, signal: AbortSignal | undefined) => Promise<Readable>
  readonly signal: AbortSignal | undefined
  /** Called once, when nothing more will be read. */
  readonly onRelease: () => void
}

/**
 * A range of an object, read as it is asked for. A connection that breaks, or idles too long because its reader is slow, is
 * opened again where it was: an object never changes. Iterate it once, one `next` at a time. It lets go of its connection
 * at the end, at an error, by `return`, and when the signal aborts.
 */
export class ObjectBody implements AsyncIterableIterator<Uint8Array> {
  readonly #source: BodySource
  readonly #end: number
  #at: number
  #stream: Readable
  #chunks: AsyncIterator<Uint8Array>
  #reopened = 0
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

  /** The next chunk; `undefined` where the connection broke and another one was opened. */
  async #read(): Promise<Uint8Array | undefined> {
    const chunk = await this.#chunks.next().then(
      (step) => (step.done === true ? cutShort() : step.value),
      (error: unknown) => toRegistryError(error, 'A stored file could not be read'),
    )
    if (chunk instanceof RegistryError) {
      await this.#resume(chunk)
      return undefined
    }
    if (chunk.length > this.#end - this.#at)
      throw new RegistryError('CORRUPT', 'The object store gave more of a file than it has')
    this.#reopened = chunk.length > 0 ? 0 : this.#reopened
    this.#at += chunk.length
    if (this.#at === this.#end) this.#release()
    return chunk
  }

  async #resume(error: RegistryError): Promise<void> {
    this.#stream.destroy()
    this.#reopened += 1
    if (this.#isReleased || this.#reopened > MAX_REOPENED) throw error
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

const chunksOf = (stream: Readable): AsyncIterator<Uint8Array> =>
  stream[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>

const cutShort = (): RegistryError =>
  new RegistryError('UNAVAILABLE', 'The object store gave less of a file than it has; try again')
