const TERMINAL_INTERVAL_MS = 100
const INTERVAL_MS = 2_000

/** Progress on stderr: on a terminal one line that is overwritten, elsewhere a new line every two seconds. */
export class Progress {
  readonly #isTerminal = process.stderr.isTTY
  #shownAt = 0

  show(text: string): void {
    const now = performance.now()
    if (now - this.#shownAt < (this.#isTerminal ? TERMINAL_INTERVAL_MS : INTERVAL_MS)) return
    this.#shownAt = now
    process.stderr.write(this.#isTerminal ? `\r\x1b[K${text}` : `${text}\n`)
  }

  /** Prints a line that stays. */
  print(text: string): void {
    process.stderr.write(`${this.#isTerminal ? '\r\x1b[K' : ''}${text}\n`)
    this.#shownAt = performance.now()
  }
}

/** Items that are processed at the same time. */
const CONCURRENCY = 16

/**
 * Runs `work` for each item and shows progress. After the first error it starts no further item, and throws that error.
 */
export async function forEach<T>(
  items: readonly T[],
  { name, progress }: { readonly name: string; readonly progress: Progress },
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const queue = items.entries()
  let done = 0
  let failure: { readonly error: unknown } | undefined
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) {
      if (failure !== undefined) return
      try {
        await work(item, index)
      } catch (error) {
        failure ??= { error }
      }
      progress.show(`${name}: ${++done} of ${items.length}`)
    }
  }
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, items.length) }, worker))
  if (failure !== undefined) throw failure.error
}
