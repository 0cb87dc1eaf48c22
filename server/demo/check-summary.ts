/** Failures of one kind that are told. */
const TOLD = 3

/** Counts of what was checked, by kind, in the order in which the kinds came. */
export class CheckSummary {
  readonly #rows = new Map<string, { ok: number; failed: number; failures: number }>()
  readonly #told: string[] = []

  /** So many checks more. `reason` is why they failed. */
  note(kind: string, subject: string, reason?: string, count = 1): void {
    const row = this.#rows.get(kind) ?? { ok: 0, failed: 0, failures: 0 }
    this.#rows.set(kind, row)
    if (reason === undefined) row.ok += count
    else {
      row.failed += count
      if (row.failures++ < TOLD) this.#told.push(`${kind}: ${subject}: ${reason}`)
    }
  }

  /** Runs a check that throws where it fails; answers what it answers, `undefined` where it failed. */
  run<T>(kind: string, subject: string, check: () => T): T | undefined {
    try {
      const value = check()
      this.note(kind, subject)
      return value
    } catch (error) {
      this.note(kind, subject, error instanceof Error ? error.message : String(error))
      return undefined
    }
  }

  /** The first failures of each kind, a line each. */
  get told(): readonly string[] {
    return this.#told
  }

  get rows(): readonly (readonly [kind: string, ok: number, failed: number])[] {
    return Array.from(this.#rows, ([kind, { ok, failed }]) => [kind, ok, failed])
  }
}

/** A table with its numbers on the right. */
export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = [
    head,
    ...rows.map((row) => row.map((cell) => (typeof cell === 'number' ? cell.toLocaleString('en') : cell))),
  ]
  const widths = head.map((_, i) => Math.max(...cells.map((row) => (row[i] ?? '').length)))
  const lines = cells.map((row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  '),
  )
  return [lines[0], widths.map((width) => '-'.repeat(width)).join('  '), ...lines.slice(1)].join('\n')
}
