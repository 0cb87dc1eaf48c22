import { closeSync, constants, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { encodeUtf8, sha256, toHex } from '../kit/index.ts'
import { errnoOf } from '../files/errors.ts'
import type { Head } from './layout.ts'

/**
 * The version and log size that the store has reached at least: those of the last group that was known to be durable.
 */
export type MinimumHead = Pick<Head, 'lastVersion' | 'logSize'>

/**
 * A small file beside the database with the numbers of the last durable group. It is overwritten in place after each
 * group and not synced. So it is exact after the process was killed, a lower bound after a power loss, and never ahead
 * of the database.
 */
export class HighWaterMark {
  readonly #file: number

  private constructor(file: number) {
    this.#file = file
  }

  /** Opens or creates the file and writes `head` to it, durably. */
  static open(path: string, head: MinimumHead): HighWaterMark {
    const mark = new HighWaterMark(openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600))
    mark.write(head)
    fsyncSync(mark.#file)
    return mark
  }

  /** Does not throw: after a failed write the file still holds an older, lower bound. */
  write({ lastVersion, logSize }: MinimumHead): void {
    try {
      writeSync(this.#file, formatLine(lastVersion, logSize), 0, 'latin1')
    } catch {
      // The next write may succeed.
    }
  }

  close(): void {
    closeSync(this.#file)
  }
}

/**
 * Reads the numbers in the file at `path`. Returns `unreadable` if the line is torn, `undefined` if the file does not
 * exist.
 */
export function readHighWaterMark(path: string): MinimumHead | 'unreadable' | undefined {
  let text: string
  try {
    text = readFileSync(path, 'latin1')
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
  const [lastVersion = '', logSize = ''] = text.split(' ')
  if (text !== formatLine(Number(lastVersion), Number(logSize))) return 'unreadable'
  return { lastVersion: Number(lastVersion), logSize: Number(logSize) }
}

/** All lines have the same length, so a write replaces the whole line. The checksum detects a torn one. */
function formatLine(lastVersion: number, logSize: number): string {
  const numbers = `${String(lastVersion).padStart(16, '0')} ${String(logSize).padStart(16, '0')}`
  return `${numbers} ${toHex(sha256(encodeUtf8(numbers))).slice(0, 16)}\n`
}
