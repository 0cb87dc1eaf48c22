/** Failures of one kind that are listed. */
const LISTED_FAILURES = 3

interface Row {
  ok: number
  failed: number
  failures: number
}

/** Counts checks by kind, in the order in which the kinds first appeared. */
export class CheckSummary {
  readonly #rows = new Map<string, Row>()
  readonly #failures: string[] = []

  /** Counts checks. `reason` is why they failed. */
  note(kind: string, subject: string, reason?: string, count = 1): void {
    const row = this.#rows.get(kind) ?? { ok: 0, failed: 0, failures: 0 }
    this.#rows.set(kind, row)
    if (reason === undefined) row.ok += count
    else {
      row.failed += count
      if (row.failures++ < LISTED_FAILURES) this.#failures.push(`${kind}: ${subject}: ${reason}`)
    }
  }

  /** Runs a check, which throws if it fails. Returns its result, or `undefined` if it failed. */
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

  /** The first failures of each kind, one line each. */
  get failures(): readonly string[] {
    return this.#failures
  }

  get rows(): readonly (readonly [kind: string, ok: number, failed: number])[] {
    return Array.from(this.#rows, ([kind, { ok, failed }]) => [kind, ok, failed])
  }
}

/** Formats a table. All columns except the first are aligned to the right. */
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
