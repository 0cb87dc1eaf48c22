/** Counts by name. Holds no name whose count is 0, so its size follows from what is open. */
export class Tally {
  readonly #counts = new Map<string, number>()

  of(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  /** Adds an amount, which is negative to take it away again. */
  add(name: string, amount: number): void {
    const count = this.of(name) + amount
    if (count === 0) this.#counts.delete(name)
    else this.#counts.set(name, count)
  }
}
