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

/** Writes a part of the result to stdout, and waits while its reader is slower. If it fails, `exitCodeOf` ends all. */
export async function writeOut(part: Uint8Array | string): Promise<void> {
  if (!process.stdout.write(part)) await new Promise<void>((resolve) => process.stdout.once('drain', resolve))
}

/** Wrong use, and also a result that could not be printed: 1 would say that a proof is refuted. */
const EXIT_USAGE = 2

/**
 * Runs the command of this program. If stdout cannot be written, the exit code is 2 and stderr says why. If its reader
 * has ended, as `head` does, the program ends quietly: with the code of the command, or 2 if it still runs.
 *
 * @param run - returns the exit code; `undefined` if the program goes on as a server
 */
export async function exitCodeOf(run: () => Promise<number | undefined>): Promise<number | undefined> {
  let hasEnded = false
  let hasFailed = false
  const ignore = (): void => undefined
  const onError = (error: Error): void => {
    const isClosed = 'code' in error && error.code === 'EPIPE'
    if (!isClosed && !hasFailed) process.stderr.write(`evidence-registry: cannot write the output: ${error.message}\n`)
    hasFailed ||= !isClosed
    // A command that wrote its last line returns first.
    setImmediate(() => {
      if (!hasEnded) process.exit(EXIT_USAGE)
    })
  }
  process.stdout.on('error', onError)
  process.stderr.on('error', ignore)
  const code = await run()
  hasEnded = true
  if (code === undefined) {
    process.stdout.off('error', onError)
    process.stderr.off('error', ignore)
    return undefined
  }
  // Not before all is written, or has failed.
  await new Promise<void>((resolve) => process.stdout.write('', () => resolve()))
  return hasFailed ? EXIT_USAGE : code
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
