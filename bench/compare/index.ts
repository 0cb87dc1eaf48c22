import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { median, quantile, ratiosOf, roundFigure } from '../run/case.ts'
import { cpu, perSecond, type Rate } from '../run/cpu-time.ts'
import type { Row } from '../run/row.ts'
import { repositoryPath } from '../run/repository.ts'
import { inTemporaryFolder } from '../workload/concurrency.ts'
import { SCENARIOS, type OpenScenarios, type Rates, type ScenarioOptions } from './scenarios.ts'

export interface CompareOptions extends ScenarioOptions {
  readonly names: readonly string[]
  /** The other checkout, with its build in `dist/`. */
  readonly against: string
  readonly rounds: number
}

export interface CompareReport {
  readonly columns: Readonly<Record<string, string>>
  readonly rows: readonly Row[]
  readonly conclusion: string
}

const COLUMNS = {
  scenario: 'scenario',
  other: 'other, per second',
  current: 'this, per second',
  ratio: 'this to other',
  lower: 'lower quartile',
  upper: 'upper quartile',
  otherCpu: 'CPU, other, µs',
  currentCpu: 'CPU, this, µs',
  cpuRatio: 'CPU, this to other',
}

/** The rates of one scenario in all rounds. Equal positions were measured directly after each other. */
interface Series {
  readonly other: Rate[]
  readonly current: Rate[]
}

/**
 * Measures this build and another in turns on one machine: A B, B A, A B … Both orders are used, so that neither build
 * profits from being first. Each round starts both builds again.
 */
export async function compareBuilds({ names, against, rounds, ...options }: CompareOptions): Promise<CompareReport> {
  const builds = { other: join(resolve(against), 'dist'), current: repositoryPath('dist') }
  const rows: Row[] = []
  for (const name of names) {
    const open = SCENARIOS[name]
    if (open === undefined) continue
    const series = await inTemporaryFolder((directory) =>
      measureScenarios({ open, directory, builds, rounds, options }),
    )
    rows.push(...[...series].map(([scenario, measured]) => rowOf(`${name}: ${scenario}`, measured)))
  }
  return { columns: COLUMNS, rows, conclusion: concludeFrom(rows, rounds) }
}

/** Returns what is wrong with a checkout to compare with, or `undefined`. */
export function findBuildProblem(checkout: string): string | undefined {
  if (existsSync(join(checkout, 'dist/server/main.js'))) return undefined
  return `${checkout} has no build: run "npm ci && npm run build" there first.`
}

interface MeasureRequest {
  readonly open: OpenScenarios
  readonly directory: string
  readonly builds: Readonly<Record<keyof Series, string>>
  readonly rounds: number
  readonly options: ScenarioOptions
}

async function measureScenarios(request: MeasureRequest) {
  const series = new Map<string, Series>()
  for (let round = 0; round < request.rounds; round++) await measureRound(request, round, series)
  return series
}

/** Opens both builds again: a process that has run for long differs from a new one by more than most changes. */
async function measureRound(
  { open, directory, builds, rounds, options }: MeasureRequest,
  round: number,
  series: Map<string, Series>,
): Promise<void> {
  const openBuild = async (build: keyof Series) => {
    const folder = join(directory, `${build}-${round}`)
    await mkdir(folder)
    return open({ ...options, directory: folder, dist: builds[build] })
  }
  const other = await openBuild('other')
  try {
    const current = await openBuild('current')
    try {
      for (const [i, unit] of current.units.entries()) {
        options.progress(`round ${round + 1} of ${rounds}: ${unit.name}`)
        await other.units[i]?.warmUp?.()
        await unit.warmUp?.()
        const measureOther = async () => note(series, 'other', (await other.units[i]?.measure()) ?? {})
        const measureCurrent = async () => note(series, 'current', await unit.measure())
        for (let turn = 0; turn < unit.turns; turn++) {
          const isOtherFirst = (round + turn) % 2 === 0
          const order = isOtherFirst ? [measureOther, measureCurrent] : [measureCurrent, measureOther]
          for (const measure of order) await measure()
        }
      }
    } finally {
      await current.close()
    }
  } finally {
    await other.close()
  }
}

function note(series: Map<string, Series>, build: keyof Series, rates: Rates): void {
  for (const [scenario, rate] of Object.entries(rates)) {
    const measured = series.get(scenario) ?? { other: [], current: [] }
    measured[build].push(rate)
    series.set(scenario, measured)
  }
}

function rowOf(scenario: string, { other, current }: Series): Row {
  const ratios = ratiosOf(current.map(perSecond), other.map(perSecond))
  return {
    scenario,
    other: roundFigure(median(other.map(perSecond))),
    current: roundFigure(median(current.map(perSecond))),
    ratio: roundFigure(median(ratios)),
    lower: roundFigure(quantile(ratios, 0.25)),
    upper: roundFigure(quantile(ratios, 0.75)),
    ...cpuColumns(other.map(cpu), current.map(cpu)),
  }
}

/** Returns no columns if the system does not report CPU times. */
const cpuColumns = (other: readonly number[], current: readonly number[]): Row =>
  other.some(Number.isNaN)
    ? {}
    : {
        otherCpu: roundFigure(median(other)),
        currentCpu: roundFigure(median(current)),
        cpuRatio: roundFigure(median(ratiosOf(current, other))),
      }

function concludeFrom(rows: readonly Row[], rounds: number): string {
  const [slowest] = rows.toSorted((a, b) => Number(a['ratio']) - Number(b['ratio']))
  const cpuRatios = rows.flatMap(({ cpuRatio }) => (typeof cpuRatio === 'number' ? [cpuRatio] : []))
  const ofCpu = cpuRatios.length === 0 ? '' : `, and the highest ratio of CPU time is ${Math.max(...cpuRatios)}`
  return (
    `Over ${rounds} ${rounds === 1 ? 'round' : 'rounds'} in turns, the lowest ratio of rates is ` +
    `${slowest?.['ratio']} (${slowest?.['scenario']})${ofCpu}; all ratios are medians of this build to the other one`
  )
}
