import { createHash } from 'node:crypto'
import type { FileInfo } from '../../api/files.ts'
import type { RegistryError } from '../../errors.ts'

/**
 * Streams a file and verifies its SHA-256. Withholds the last chunk until the digest matches. On a mismatch throws what
 * `mismatch` returns, so no reader takes a damaged file for complete. Returning early also ends the underlying body.
 */
export class VerifiedBody implements AsyncIterableIterator<Uint8Array> {
  readonly #sha256: string
  readonly #mismatch: () => RegistryError
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #hash = createHash('sha256')
  #first: IteratorResult<Uint8Array, undefined> | undefined
  #withheld: Uint8Array | undefined
  #isOver = false

  private constructor(body: AsyncIterable<Uint8Array>, { sha256 }: FileInfo, mismatch: () => RegistryError) {
    this.#sha256 = sha256
    this.#mismatch = mismatch
    this.#chunks = body[Symbol.asyncIterator]()
  }

  /**
   * Reads ahead until the first chunk can be yielded. So a file of one chunk that is damaged, or a file that cannot be
   * read at all, throws here and not while it is streamed.
   */
  static async open(
    body: AsyncIterable<Uint8Array>,
    file: FileInfo,
    mismatch: () => RegistryError,
  ): Promise<VerifiedBody> {
    const verified = new VerifiedBody(body, file, mismatch)
    verified.#first = await verified.next()
    return verified
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const first = this.#first
    this.#first = undefined
    if (first !== undefined) return first
    while (!this.#isOver) {
      const chunk = this.#withheld
      this.#withheld = await this.#nextChunk()
      if (chunk !== undefined) return { done: false, value: chunk }
    }
    return { done: true, value: undefined }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#isOver = true
    this.#first = undefined
    await this.#chunks.return?.()
    return { done: true, value: undefined }
  }

  /** The next chunk that is not empty, `undefined` at the end of a file with the recorded hash. */
  async #nextChunk(): Promise<Uint8Array | undefined> {
    for (let step = await this.#chunks.next(); step.done !== true; step = await this.#chunks.next()) {
      // Hashed before the reader gets the chunk, because the reader may change it.
      this.#hash.update(step.value)
      if (step.value.length > 0) return step.value
    }
    this.#isOver = true
    if (this.#hash.digest('hex') === this.#sha256) return undefined
    throw this.#mismatch()
  }
}
