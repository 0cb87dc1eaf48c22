const TERMINAL_INTERVAL_MS = 100
const INTERVAL_MS = 2_000

/** Progress on stderr: on a terminal one line that is overwritten, elsewhere a new line every two seconds. */
export class ProgressLine {
  #shownAt = performance.now()

  show(text: string): void {
    const { isTTY } = process.stderr
    const now = performance.now()
    if (now - this.#shownAt < (isTTY ? TERMINAL_INTERVAL_MS : INTERVAL_MS)) return
    this.#shownAt = now
    process.stderr.write(isTTY ? `\r\x1b[K${text}` : `${text}\n`)
  }

  /** Prints a line of the result to stdout, in place of the progress line. */
  print(line: string): void {
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
    process.stdout.write(`${line}\n`)
  }
}
