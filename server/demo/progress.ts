const TERMINAL_MS = 100
const PLAIN_MS = 2_000

/** One line on stderr that is written over on a terminal; elsewhere a line every two seconds. */
export class Progress {
  readonly #isTerminal = process.stderr.isTTY
  #shownAt = 0

  show(text: string): void {
    const now = performance.now()
    if (now - this.#shownAt < (this.#isTerminal ? TERMINAL_MS : PLAIN_MS)) return
    this.#shownAt = now
    process.stderr.write(this.#isTerminal ? `\r\x1b[K${text}` : `${text}\n`)
  }

  /** A line that stays. */
  say(text: string): void {
    process.stderr.write(`${this.#isTerminal ? '\r\x1b[K' : ''}${text}\n`)
    this.#shownAt = performance.now()
  }
}

/** Does `work` for each item, so many at a time, and says how far it is. The first error ends it, once what is under way is done. */
export async function forEach<T>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<void>,
  {
    name,
    progress,
    concurrency = 16,
  }: { readonly name: string; readonly progress: Progress; readonly concurrency?: number },
): Promise<void> {
  let next = 0
  let done = 0
  let failure: { readonly error: unknown } | undefined
  const worker = async (): Promise<void> => {
    while (next < items.length && failure === undefined) {
      const index = next++
      try {
        await work(items[index] as T, index)
      } catch (error) {
        failure ??= { error }
      }
      progress.show(`${name}: ${++done} of ${items.length}`)
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker))
  if (failure !== undefined) throw failure.error
}
