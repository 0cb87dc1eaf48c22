import { createHash } from 'node:crypto'
import type { FileInfo } from '../../api/files.ts'
import { RegistryError } from '../../errors.ts'

/**
 * Streams a file and verifies its SHA-256. Withholds the last chunk until the digest matches. On a mismatch throws
 * `CORRUPT`, so no reader takes a damaged file for complete. Returning early also ends the underlying body.
 */
export class VerifiedBody implements AsyncIterableIterator<Uint8Array> {
  readonly #file: FileInfo
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #hash = createHash('sha256')
  #withheld: Uint8Array | undefined
  #isOver = false

  constructor(body: AsyncIterable<Uint8Array>, file: FileInfo) {
    this.#file = file
    this.#chunks = body[Symbol.asyncIterator]()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    while (!this.#isOver) {
      const chunk = this.#withheld
      this.#withheld = await this.#nextChunk()
      if (chunk !== undefined) return { done: false, value: chunk }
    }
    return { done: true, value: undefined }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#isOver = true
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
    if (this.#hash.digest('hex') === this.#file.sha256) return undefined
    throw new RegistryError('CORRUPT', `The stored bytes of file ${this.#file.id} do not have the recorded hash`)
  }
}
