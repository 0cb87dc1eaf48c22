import { closeSync, constants, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { encodeUtf8, sha256, toHex } from '../../core/bytes.ts'
import type { Head } from './layout.ts'

/** The least that the store must hold: the last group that was known to be durable. */
export type Witnessed = Pick<Head, 'lastVersion' | 'logSize'>

/**
 * A small file beside the database that says how far it was. It is written after each durable group, in place and not
 * synced: exact after a killed process, a lower bound after a power loss, and never ahead of the database.
 */
export class HighWaterMark {
  readonly #file: number

  private constructor(file: number) {
    this.#file = file
  }

  /** Creates it, or goes on with it; durable when it returns. */
  static open(path: string, head: Witnessed): HighWaterMark {
    const witness = new HighWaterMark(openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600))
    witness.write(head)
    fsyncSync(witness.#file)
    return witness
  }

  /** A write that fails leaves the bound lower than it could be, which is still true. */
  write({ lastVersion, logSize }: Witnessed): void {
    try {
      writeSync(this.#file, lineOf(lastVersion, logSize), 0, 'latin1')
    } catch {
      // The next one may work.
    }
  }

  close(): void {
    closeSync(this.#file)
  }
}

/** What the file at `path` says; `unreadable` where it exists and is torn, `undefined` where there is none. */
export function readHighWaterMark(path: string): Witnessed | 'unreadable' | undefined {
  let text: string
  try {
    text = readFileSync(path, 'latin1')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
  const [lastVersion = '', logSize = ''] = text.split(' ')
  if (text !== lineOf(Number(lastVersion), Number(logSize))) return 'unreadable'
  return { lastVersion: Number(lastVersion), logSize: Number(logSize) }
}

/** Of one length, so that it is overwritten whole, and with a checksum, so that a torn one is seen. */
function lineOf(lastVersion: number, logSize: number): string {
  const numbers = `${String(lastVersion).padStart(16, '0')} ${String(logSize).padStart(16, '0')}`
  return `${numbers} ${toHex(sha256(encodeUtf8(numbers))).slice(0, 16)}\n`
}
