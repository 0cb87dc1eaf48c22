import type { FileHandle } from 'node:fs/promises'
import { concatBytes, RegistryError } from '../kit/index.ts'
import { nodeFiles, writeWhole } from '../files/durable.ts'
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
  /** True for the line that reaches the end of the file. */
  readonly isLast: boolean
}

/**
 * Reads the lines that a file has now, from the start. Holds one line and one read in memory at a time.
 * Throws `CORRUPT` if a line is longer than any block.
 */
export async function* linesOf(handle: FileHandle): AsyncGenerator<Line> {
  const { size } = await handle.stat()
  let offset = 0
  let rest: Uint8Array = new Uint8Array()
  for (let position = 0; position < size;) {
    const buffer = new Uint8Array(Math.min(READ_BYTES, size - position))
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, position)
    if (bytesRead === 0) break
    position += bytesRead
    rest = concatBytes(rest, buffer.subarray(0, bytesRead))
    for (let end = rest.indexOf(LINE_FEED); end !== -1; end = rest.indexOf(LINE_FEED)) {
      const next = offset + end + 1
      yield { offset, bytes: rest.slice(0, end), isComplete: true, isLast: next === size }
      rest = rest.subarray(end + 1)
      offset = next
    }
    if (rest.length > MAX_LINE_BYTES)
      throw new RegistryError('CORRUPT', `The line at byte ${offset} is longer than ${MAX_LINE_BYTES} bytes`)
  }
  if (rest.length > 0) yield { offset, bytes: rest, isComplete: false, isLast: true }
}

/** Reads the lines of the file at this path. */
export async function* linesOfFile(path: string): AsyncGenerator<Line> {
  const handle = await nodeFiles.open(path)
  try {
    yield* linesOf(handle)
  } finally {
    await handle.close()
  }
}

/**
 * A file to which lines are appended. What a failed append leaves is removed before the next one. If the process ends
 * before that, the next one finds the line whole, or cut short. Throws the errors of the file system.
 */
export class LineFile {
  readonly #path: string
  readonly #handle: FileHandle
  /** Size in bytes up to the last line that was acknowledged. */
  #size: number
  #hasLeftovers = false

  constructor(path: string, handle: FileHandle, size: number) {
    this.#path = path
    this.#handle = handle
    this.#size = size
  }

  /** Appends a line and its line feed, durably. Throws `ANCHOR_FAILED` if another process wrote to the file. */
  async append(line: Uint8Array): Promise<void> {
    if (this.#hasLeftovers) await this.truncate(this.#size)
    if ((await this.#handle.stat()).size !== this.#size)
      throw new RegistryError(
        'ANCHOR_FAILED',
        `Another process wrote to ${this.#path}: only one may have it open. Stop the other process, then ` +
          'restart this one',
      )
    this.#hasLeftovers = true
    await writeWhole(this.#handle, concatBytes(line, Uint8Array.of(LINE_FEED)))
    await this.#handle.sync()
    this.#hasLeftovers = false
    this.#size += line.length + 1
  }

  /** Shortens the file to `size` bytes, durably. */
  async truncate(size: number): Promise<void> {
    await this.#handle.truncate(size)
    await this.#handle.sync()
    this.#size = size
    this.#hasLeftovers = false
  }

  close(): Promise<void> {
    return this.#handle.close()
  }
}
