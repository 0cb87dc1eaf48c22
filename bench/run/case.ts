import type { Picture } from './picture.ts'
import type { Row } from './row.ts'

/** What a benchmark receives from the command line. */
export interface BenchContext {
  /** Small sizes, only to see that the benchmark works. Its figures mean nothing. */
  readonly quick: boolean
  /** How many evidences the largest registry may have. Default: the benchmark's own. */
  readonly evidences?: number
  /** Reports how far the run is. Shown at once. */
  readonly progress: (text: string) => void
}

export interface BenchResult {
  /** What is the same for all rows: sizes, durability, number of rounds. */
  readonly settings: Readonly<Record<string, string | number | boolean>>
  readonly rows: readonly Row[]
  /** Ratios and single figures computed from the rows, by name. */
  readonly findings: Readonly<Record<string, number>>
}

export interface BenchCase {
  /** The argument of `--only`, and the name of the files in `results/`. */
  readonly name: string
  /** One line: what is measured, and against what. */
  readonly measures: string
  /** The heading of each row value, with its unit, in the order of the table. */
  readonly columns: Readonly<Record<string, string>>
  readonly picture?: Picture
  run(context: BenchContext): Promise<BenchResult>
  /** One sentence to quote, without the machine. */
  conclude(result: BenchResult): string
}

/** The middle value, or the mean of the two middle values. Throws `RangeError` if there are no values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[middle]]
  if (low === undefined || high === undefined) throw new RangeError('the median of no values is not defined')
  return (low + high) / 2
}

/** @param share - from 0 to 1 */
export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.round((values.length - 1) * share)] ?? Number.NaN

/** The ratios of values that were measured directly after each other, so at equal positions. */
export const ratiosOf = (values: readonly number[], others: readonly number[]): readonly number[] =>
  values.map((value, i) => value / (others[i] ?? Number.NaN))

/** Rounds to three significant digits. More would be noise. */
export const roundFigure = (value: number): number => Number(value.toPrecision(3))

/** The same figures, rounded. */
export const roundFigures = (figures: object): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, roundFigure(Number(value))]))

/** A number with its thousands grouped: `1,234,567`. */
export const formatNumber = (value: number): string => value.toLocaleString('en', { maximumSignificantDigits: 6 })

/** A figure of `findings` as text; `?` if it was not measured. */
export const formatFinding = ({ findings }: BenchResult, name: string): string => {
  const value = findings[name]
  return value === undefined ? '?' : formatNumber(value)
}

/** A value of the first row in which `column` has the value `is`, as text; `?` if there is no such row. */
export function formatCell(
  { rows }: BenchResult,
  { where, get }: { readonly where: Row; readonly get: string },
): string {
  const row = rows.find((candidate) => Object.entries(where).every(([column, value]) => candidate[column] === value))
  const value = row?.[get]
  return typeof value === 'number' ? formatNumber(value) : (value ?? '?')
}
