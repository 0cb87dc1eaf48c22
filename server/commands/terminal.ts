import { once } from 'node:events'

/** What commands print and read on a terminal. */

const TERMINAL_INTERVAL_MS = 100
const INTERVAL_MS = 2_000

/** Progress on stderr: on a terminal one line that is overwritten, elsewhere a new line every two seconds. */
export class ProgressLine {
  #shownAt = performance.now()
  /** For long work: problems are lines of the result, progress is shown. */
  readonly handlers = {
    onProblem: (message: string): void => this.print(message),
    onProgress: (stage: string, done: number): void => this.show(`${stage}: ${done}`),
  }

  show(text: string): void {
    const { isTTY } = process.stderr
    const now = performance.now()
    if (now - this.#shownAt < (isTTY ? TERMINAL_INTERVAL_MS : INTERVAL_MS)) return
    this.#shownAt = now
    process.stderr.write(isTTY ? `\r\x1b[K${text}` : `${text}\n`)
  }

  /** Removes the progress from a terminal. */
  end(): void {
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
  }

  /** Prints a line of the result to stdout, in place of the progress line. */
  print(line: string): void {
    this.end()
    process.stdout.write(`${line}\n`)
  }
}

/** Writes a part of the result to stdout, and waits while its reader is slower. */
export async function writeOut(part: Uint8Array | string): Promise<void> {
  if (!process.stdout.write(part)) await once(process.stdout, 'drain')
}

/**
 * A text from a stranger, without characters that control a terminal or change the direction of the text: they are
 * written as `\u{HEX}`.
 */
export const printable = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`)

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist: correct the path',
  ENOTDIR: 'it does not exist: correct the path',
  EISDIR: 'it is a directory: name a file in it',
  EACCES: 'this user has no access: change its owner or mode',
  EPERM: 'this user has no access: change its owner or mode',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'it is not text in UTF-8: name another file',
}

/** Why a file that an argument names cannot be read, and what to do. */
export function whyUnreadable(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const reason = REASONS[code]
  return reason === undefined ? error.message : `${reason} (${code})`
}
