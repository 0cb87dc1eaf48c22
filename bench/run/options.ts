import { parseArgs } from 'node:util'

/** What the command line requests. */
export type Command =
  | { readonly kind: 'help' | 'list' | 'draw' }
  | {
      readonly kind: 'run'
      readonly names: readonly string[]
      readonly evidences?: number
      readonly quick: boolean
      readonly save: boolean
    }
  | {
      readonly kind: 'compare'
      readonly names: readonly string[]
      readonly against: string
      readonly rounds: number
      readonly evidences: number
      readonly quick: boolean
    }
  | { readonly kind: 'error'; readonly message: string }

const OPTIONS = {
  all: { type: 'boolean', default: false },
  only: { type: 'string' },
  quick: { type: 'boolean', default: false },
  'no-save': { type: 'boolean', default: false },
  against: { type: 'string' },
  rounds: { type: 'string', default: '5' },
  evidences: { type: 'string' },
  list: { type: 'boolean', default: false },
  draw: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const

export interface KnownNames {
  /** All benchmarks. */
  readonly cases: readonly string[]
  /** The benchmark that runs if none is named. */
  readonly standard: string
  /** Those that `--against` can compare. */
  readonly comparisons: readonly string[]
}

/**
 * Parses the arguments of `npm run bench --`. Wrong arguments give an `error` with one line that says what is
 * possible.
 */
export function parseCommand(args: readonly string[], known: KnownNames): Command {
  const values = parseValues(args)
  if (typeof values === 'string') return { kind: 'error', message: values }
  if (values.help) return { kind: 'help' }
  if (values.list) return { kind: 'list' }
  if (values.draw) return { kind: 'draw' }
  if (values.all && values.only !== undefined)
    return { kind: 'error', message: 'Use --all or --only NAME[,NAME], not both.' }
  const isComparison = values.against !== undefined
  const available = isComparison ? known.comparisons : known.cases
  const standard = isComparison ? known.comparisons : [known.standard]
  const names = values.all ? available : (values.only?.split(',').map((name) => name.trim()) ?? standard)
  const unknown = names.filter((name) => !available.includes(name))
  if (unknown.length > 0) return { kind: 'error', message: unknownNames(unknown, available) }
  const { against, quick, evidences: given } = values
  const [rounds, evidences] = [Number(values.rounds), Number(given ?? COMPARED_EVIDENCES)]
  if (!isWholeFrom(1, rounds)) return { kind: 'error', message: wrongNumber('rounds', 1, values.rounds) }
  if (!isWholeFrom(LEAST_EVIDENCES, evidences))
    return { kind: 'error', message: wrongNumber('evidences', LEAST_EVIDENCES, given ?? '') }
  if (against !== undefined) return { kind: 'compare', names, against, rounds, evidences, quick }
  return { kind: 'run', names, quick, save: !quick && !values['no-save'], ...(given !== undefined && { evidences }) }
}

const COMPARED_EVIDENCES = 20_000
/** Some requests choose among a thousand evidences. */
const LEAST_EVIDENCES = 1_000

const isWholeFrom = (least: number, value: number): boolean => Number.isSafeInteger(value) && value >= least

const wrongNumber = (option: string, least: number, given: string): string =>
  `--${option} must be a whole number from ${least}, got ${given}.`

function parseValues(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS }).values
  } catch (error) {
    const [line = ''] = String(error instanceof Error ? error.message : error).split(/[\n.]/)
    return `${line}. "npm run bench -- --help" lists the options.`
  }
}

const unknownNames = (unknown: readonly string[], available: readonly string[]): string =>
  `Unknown benchmark: ${unknown.join(', ')}. Known benchmarks: ${available.join(', ')}.`

export const HELP = `Usage: npm run bench -- [options]

Without options: measures batch sealing throughput in about a minute.

Which benchmarks
  --all                run every benchmark (more than half an hour)
  --only NAME[,NAME]   run these; the names are in --list
  --list               list the benchmarks

How
  --quick              small sizes, to see that it works; the figures mean nothing, nothing is saved
  --no-save            do not write bench/results/NAME.json and NAME.svg
  --evidences N        the largest registry of growth and search; default 1000000. 10000000 take 16 GB
                       and more than half an hour

Compare two builds
  --against PATH       measure this checkout and another built one in turns (A B B A …), and print
                       the ratios of rates and of CPU time; saves nothing
  --rounds N           how often each build is measured with --against; default 5
  --evidences N        how many evidences the gets, lists and proofs read; default 20000. Caches
                       keep few of 100000

Other
  --draw               draw the pictures in bench/results again from the recorded figures
  --help               show this text
`
