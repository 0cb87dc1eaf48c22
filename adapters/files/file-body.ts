import type { FileHandle } from 'node:fs/promises'
import { RegistryError, type BlobRange } from '../kit/index.ts'
import { toRegistryError } from './errors.ts'

const BLOCK_BYTES = 65_536

/**
 * Streams a range of an open file, 64 KiB per read, without reading ahead. Iterate it once, one `next` at a time. The
 * file is closed at the end, at the first error, by `return` (also before the first `next`), and if the signal aborts.
 */
export class FileBody implements AsyncIterableIterator<Uint8Array> {
  readonly #file: FileHandle
  readonly #signal: AbortSignal | undefined
  readonly #end: number
  #at: number
  #isReleased = false
  readonly #onAbort = (): void => void this.#release()

  /** Takes ownership of the handle. The range must lie within the file, or be empty. */
  constructor(file: FileHandle, { start, end }: BlobRange, signal: AbortSignal | undefined) {
    this.#file = file
    this.#at = start
    this.#end = end
    this.#signal = signal
    signal?.addEventListener('abort', this.#onAbort, { once: true })
    if (start === end || signal?.aborted === true) void this.#release()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const left = this.#end - this.#at
    if (left > 0) this.#signal?.throwIfAborted()
    if (left <= 0 || this.#isReleased) return { done: true, value: undefined }
    try {
      const block = await this.#read(Math.min(BLOCK_BYTES, left))
      if (this.#at === this.#end) await this.#release()
      return { done: false, value: block }
    } catch (error) {
      await this.#release()
      throw error
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    await this.#release()
    return { done: true, value: undefined }
  }

  async #read(length: number): Promise<Uint8Array> {
    const block = new Uint8Array(length)
    const { bytesRead } = await this.#file.read(block, 0, length, this.#at).catch((error: unknown) => {
      throw toRegistryError(error, 'A stored file could not be read')
    })
    if (bytesRead === 0)
      throw new RegistryError(
        'CORRUPT',
        'A stored file is shorter than it was when it was opened; restore it from a backup',
      )
    this.#at += bytesRead
    return block.subarray(0, bytesRead)
  }

  /** Closes the file once. An error of the close is ignored: the file was only read. */
  async #release(): Promise<void> {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#signal?.removeEventListener('abort', this.#onAbort)
    await this.#file.close().catch(() => undefined)
  }
}
