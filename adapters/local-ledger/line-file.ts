import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { concatBytes, RegistryError } from '../kit/index.ts'
import { writeWhole, type FileOperations } from '../files/durable.ts'
import { MAX_LINE_BYTES } from '../../core/verify/chain/ledger-block.ts'

const LINE_FEED = 0x0a
const READ_BYTES = 65_536

export interface Line {
  /** Position of its first byte in the file. */
  readonly offset: number
  /** Without the line feed. */
  readonly bytes: Uint8Array
  /** False for bytes at the end of the file that have no line feed after them. */
  readonly isComplete: boolean
}

/**
 * An append-only file of lines. `append` either leaves a complete, synced line or restores the file as it was before,
 * at once or before the next append. Errors of the file system are thrown unchanged.
 */
export class LineFile {
  readonly path: string
  readonly #handle: FileHandle
  /** Size in bytes up to the last acknowledged line. Bytes after it are left over from a failed append. */
  #size: number
  #hasLeftovers = false

  private constructor(path: string, handle: FileHandle, size: number) {
    this.path = path
    this.#handle = handle
    this.#size = size
  }

  /** Opens a file, which must exist. */
  static async open(files: FileOperations, path: string, mode: 'read' | 'append'): Promise<LineFile> {
    const handle = await files.open(path, mode === 'read' ? constants.O_RDONLY : constants.O_RDWR | constants.O_APPEND)
    try {
      return new LineFile(path, handle, (await handle.stat()).size)
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** True for the line that reaches the end of the file. */
  isLast({ offset, bytes }: Line): boolean {
    return offset + bytes.length + 1 >= this.#size
  }

  /** Reads every line from the start, one at a time. Throws `CORRUPT` if a line is longer than any block. */
  async *lines(): AsyncGenerator<Line> {
    for (let offset = 0; offset < this.#size;) {
      const line = await this.lineAt(offset)
      yield line
      offset += line.bytes.length + (line.isComplete ? 1 : 0)
    }
  }

  /** Reads the line that begins at `offset`. Throws `CORRUPT` if it is longer than any block. */
  async lineAt(offset: number): Promise<Line> {
    const parts: Uint8Array[] = []
    for (let position = offset; position < this.#size;) {
      const buffer = new Uint8Array(Math.min(READ_BYTES, this.#size - position))
      const { bytesRead } = await this.#handle.read(buffer, 0, buffer.length, position)
      if (bytesRead === 0) break
      const chunk = buffer.subarray(0, bytesRead)
      const end = chunk.indexOf(LINE_FEED)
      parts.push(end === -1 ? chunk : chunk.subarray(0, end))
      if (end !== -1) return { offset, bytes: concatBytes(...parts), isComplete: true }
      position += chunk.length
      if (position - offset > MAX_LINE_BYTES)
        throw new RegistryError('CORRUPT', `The line at byte ${offset} is longer than ${MAX_LINE_BYTES} bytes`)
    }
    return { offset, bytes: concatBytes(...parts), isComplete: false }
  }

  /**
   * Appends a line and its line feed, and returns the line's offset once both are durable. Throws `ANCHOR_FAILED`
   * if another process wrote to the file.
   */
  async append(line: Uint8Array): Promise<number> {
    if (this.#hasLeftovers) await this.truncate(this.#size)
    const { size: actualSize } = await this.#handle.stat()
    if (actualSize !== this.#size)
      throw new RegistryError(
        'ANCHOR_FAILED',
        `Another process wrote to ${this.path}: only one may have it open. Stop the other process, then restart this one`,
      )
    this.#hasLeftovers = true
    try {
      await writeWhole(this.#handle, concatBytes(line, Uint8Array.of(LINE_FEED)))
      await this.#handle.sync()
    } catch (error) {
      // If this fails too, the next append tries it again before it writes.
      await this.truncate(this.#size).catch(() => undefined)
      throw error
    }
    this.#hasLeftovers = false
    const offset = this.#size
    this.#size += line.length + 1
    return offset
  }

  /** Shortens the file to `size` bytes, durably. */
  async truncate(size: number): Promise<void> {
    await this.#handle.truncate(size)
    await this.#handle.sync()
    this.#size = size
    this.#hasLeftovers = false
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }
}
