import { createHash } from 'node:crypto'
import { RegistryError } from '../../errors.ts'
import type { FileInfo } from '../../api/registry.ts'

/**
 * The bytes of a whole file, of which the last are held back until the whole is what was recorded: else it ends as `CORRUPT`,
 * and nobody has taken other bytes for the file. What is let go before it was read is let go below as well.
 */
export class VerifiedBody implements AsyncIterableIterator<Uint8Array> {
  readonly #file: FileInfo
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #hash = createHash('sha256')
  #held: Uint8Array | undefined
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
      const given = this.#held
      this.#held = await this.#take()
      if (given !== undefined) return { done: false, value: given }
    }
    return { done: true, value: undefined }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#isOver = true
    await this.#chunks.return?.()
    return { done: true, value: undefined }
  }

  /** The next chunk with bytes in it; `undefined` at a good end. */
  async #take(): Promise<Uint8Array | undefined> {
    for (let step = await this.#chunks.next(); step.done !== true; step = await this.#chunks.next()) {
      // Hashed before the reader has it, who may change what he is given.
      this.#hash.update(step.value)
      if (step.value.length > 0) return step.value
    }
    this.#isOver = true
    if (this.#hash.digest('hex') === this.#file.sha256) return undefined
    throw new RegistryError('CORRUPT', `The stored bytes of file ${this.#file.id} are not those that were recorded`)
  }
}
