/** What a benchmark is given: how much it may do, and where it says how far it is. */
export interface BenchContext {
  /** Small sizes, for trying whether it works: its figures are not to be quoted. */
  readonly quick: boolean
  /** Says how far it is; shown at once. */
  readonly progress: (text: string) => void
}

/** One row of a result, in the order in which it shall be shown. Numbers carry their unit in the name. */
export type Row = Readonly<Record<string, string | number>>

export interface BenchResult {
  /** What holds for all rows: sizes, durability settings, how often it was repeated. */
  readonly settings: Readonly<Record<string, string | number | boolean>>
  readonly rows: readonly Row[]
  /** The figures that the rows come to, by name: ratios and medians. */
  readonly findings: Readonly<Record<string, number>>
}

export interface Bench {
  readonly name: string
  /** One line: what it measures. */
  readonly about: string
  run(context: BenchContext): Promise<BenchResult>
}

/** The middle value; of an even number, the mean of the middle two. Requires one at least. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[middle]]
  if (low === undefined || high === undefined) throw new RangeError('no values')
  return (low + high) / 2
}

/** Rounded to three significant digits, as figures are shown. */
export const shown = (value: number): number => Number(value.toPrecision(3))
