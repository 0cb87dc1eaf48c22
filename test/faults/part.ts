/** What a part is given for one run. */
export interface FaultRun {
  readonly count: number
  /** Case i uses `seed + i`. Everything random in it comes from that number. */
  readonly seed: number
  /** Whether this is the long run, which may also use cases that take longer. */
  readonly long: boolean
  readonly progress: (done: number) => void
}

/** One part of the fault harness. */
export interface FaultPart {
  readonly name: 'simulation' | 'kill' | 'power-loss' | 'system-calls' | 'tampering' | 'fuzz'
  /** What must hold, in one sentence; printed in the table. */
  readonly passesWhen: string
  /** How many cases each landing runs, and `--long`. */
  readonly count: { readonly short: number; readonly long: number }
  /** Runs `count` cases from `seed` on. A failure names the seed that repeats it. */
  run(options: FaultRun): Promise<FaultResult>
}

export interface FaultResult {
  readonly cases: number
  readonly failures: readonly FaultFailure[]
  /** Words for the table: "5,018 acknowledged, 0 lost". */
  readonly figures: string
  /** What could not run here, and how to get it. Empty in CI. */
  readonly skipped?: string
}

export interface FaultFailure {
  /** With this seed and a count of 1 the case is repeated. */
  readonly seed: number
  readonly message: string
}

/** What a control found out: a failure, unless what it broke was noticed. */
export const controlFailures = (seed: number, isNoticed: boolean, broken: string): readonly FaultFailure[] =>
  isNoticed ? [] : [{ seed, message: `the control, ${broken}, was not noticed` }]

/** Names what was done, if it fails. */
export async function named<T>(what: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw new Error(what, { cause: error })
  }
}

/** A stack with the causes, for the person who reads a failure. */
export function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return `${error.stack ?? error.message}${error.cause === undefined ? '' : `\n  because: ${textOf(error.cause)}`}`
}
