/** The readers of a database that are open now: reads in progress, lists, snapshots. */
export class OpenReaders {
  readonly #ends = new Set<Promise<void>>()

  /** Notes that a reader was opened. Returns the function to call when it is closed. */
  open(): () => void {
    let close = (): void => undefined
    const end = new Promise<void>((resolve) => {
      close = resolve
    }).then(() => void this.#ends.delete(end))
    this.#ends.add(end)
    return close
  }

  /** Waits until all readers that are open now are closed. Returns false if that takes longer. */
  async drained(timeoutMs: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, timeoutMs, false)
    })
    try {
      return await Promise.race([Promise.all(this.#ends).then(() => true), timeout])
    } finally {
      clearTimeout(timer)
    }
  }
}
