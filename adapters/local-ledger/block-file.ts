import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { concatBytes } from '../../core/bytes.ts'
import { RegistryError } from '../../core/errors.ts'
import type { FileOperations } from '../files/durable.ts'

const LINE_FEED = 0x0a
const READ_BYTES = 65_536

export interface Line {
  /** Where it begins, bytes. */
  readonly offset: number
  /** Without its line feed. */
  readonly bytes: Uint8Array
  /** False for bytes at the end of the file that no line feed follows. */
  readonly ended: boolean
}

/**
 * An append-only file of lines. What is not acknowledged is cut off again: `append` either leaves a whole, synced line or, where that fails, the
 * file as it was (then, or before the next append). It throws what the file system throws.
 */
export class BlockFile {
  readonly #handle: FileHandle
  readonly #maxLineBytes: number
  /** Bytes that are acknowledged; what lies beyond them is a failed append's. */
  #size = 0
  #uncertain = false

  private constructor(handle: FileHandle, maxLineBytes: number) {
    this.#handle = handle
    this.#maxLineBytes = maxLineBytes
  }

  /** The file must exist. */
  static async open(
    files: FileOperations,
    path: string,
    maxLineBytes: number,
    mode: 'read' | 'append',
  ): Promise<BlockFile> {
    const flags = mode === 'read' ? constants.O_RDONLY : constants.O_RDWR | constants.O_APPEND
    const file = new BlockFile(await files.open(path, flags), maxLineBytes)
    try {
      file.#size = (await file.#handle.stat()).size
      return file
    } catch (error) {
      await file.close()
      throw error
    }
  }

  get size(): number {
    return this.#size
  }

  /** Every line from the start, holding one at a time. Throws `CORRUPT` where one is longer than any that was written. */
  async *lines(): AsyncGenerator<Line> {
    for (let offset = 0; offset < this.#size;) {
      const line = await this.lineAt(offset)
      yield line
      offset += line.bytes.length + (line.ended ? 1 : 0)
    }
  }

  /** The line that begins at `offset` (below `size`). */
  async lineAt(offset: number): Promise<Line> {
    const parts: Uint8Array[] = []
    let length = 0
    for (let at = offset; at < this.#size;) {
      const buffer = new Uint8Array(Math.min(READ_BYTES, this.#size - at))
      const { bytesRead } = await this.#handle.read(buffer, 0, buffer.length, at)
      if (bytesRead === 0) break
      const chunk = buffer.subarray(0, bytesRead)
      const end = chunk.indexOf(LINE_FEED)
      parts.push(end === -1 ? chunk : chunk.subarray(0, end))
      if (end !== -1) return { offset, bytes: concatBytes(...parts), ended: true }
      at += bytesRead
      length += bytesRead
      if (length > this.#maxLineBytes)
        throw new RegistryError(
          'CORRUPT',
          `The ledger's line at byte ${offset} is longer than any that was written: restore the file from a backup`,
        )
    }
    return { offset, bytes: concatBytes(...parts), ended: false }
  }

  /** Appends the line and its line feed; durable when it answers with the line's offset. */
  async append(line: Uint8Array): Promise<number> {
    if (this.#uncertain) await this.truncate(this.#size)
    const { size } = await this.#handle.stat()
    if (size !== this.#size)
      throw new RegistryError(
        'ANCHOR_FAILED',
        "Somebody else wrote to the ledger's file: only one process may have it open. Stop the other one, then start this one again",
      )
    this.#uncertain = true
    try {
      await this.#write(concatBytes(line, Uint8Array.of(LINE_FEED)))
      await this.#handle.sync()
    } catch (error) {
      // Where this fails as well, the next append tries it first.
      await this.truncate(this.#size).catch(() => undefined)
      throw error
    }
    this.#uncertain = false
    const offset = this.#size
    this.#size += line.length + 1
    return offset
  }

  /** Cuts the file to `size` bytes, durably. */
  async truncate(size: number): Promise<void> {
    await this.#handle.truncate(size)
    await this.#handle.sync()
    this.#size = size
    this.#uncertain = false
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }

  /** A write may take only a part of what it is given (write(2)), as on a disk about to be full. */
  async #write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      const { bytesWritten } = await this.#handle.write(bytes, at, bytes.length - at)
      if (bytesWritten === 0) throw new Error('The file system took no bytes and gave no error')
      at += bytesWritten
    }
  }
}
