/** Shows how far a run is. */
export interface Progress {
  show(text: string): void
  /** Removes the line, before other output. */
  clear(): void
}

interface Output {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

const ERASE_LINE = '\r\u001B[K'

/** On a terminal one line that is overwritten. Elsewhere a plain line for each step. */
export function createProgress(output: Output): Progress {
  if (output.isTTY !== true) return { show: (text) => output.write(`${text}\n`), clear: () => undefined }
  // One column stays free, so that the terminal does not wrap.
  const width = (output.columns ?? 80) - 1
  return {
    show: (text) => output.write(ERASE_LINE + text.slice(0, width)),
    clear: () => output.write(ERASE_LINE),
  }
}
