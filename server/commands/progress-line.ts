const TERMINAL_MS = 100
const PROGRESS_MS = 2_000

/** One line that is written over on a terminal; elsewhere a line every two seconds. */
export class ProgressLine {
  #shownAt = performance.now()

  show(text: string): void {
    const { isTTY } = process.stderr
    const now = performance.now()
    if (now - this.#shownAt < (isTTY ? TERMINAL_MS : PROGRESS_MS)) return
    this.#shownAt = now
    process.stderr.write(isTTY ? `\r\x1b[K${text}` : `${text}\n`)
  }

  clear(): void {
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
  }
}
