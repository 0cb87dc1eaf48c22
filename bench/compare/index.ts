import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { median, roundFigure, type Row } from '../run/case.ts'
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
  other: 'other build, per second',
  current: 'this build, per second',
  ratio: 'this to other, median',
  lowest: 'lowest ratio',
  highest: 'highest ratio',
}

/** The rates of one scenario in all rounds. Equal positions were measured directly after each other. */
interface Series {
  readonly other: number[]
  readonly current: number[]
}

/**
 * Measures this build and another in turns on one machine: A B, B A, A B … Both orders are used, so that neither build
 * profits from being first.
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

async function measureScenarios({ open, directory, builds, rounds, options }: MeasureRequest) {
  const series = new Map<string, Series>()
  const openBuild = async (build: keyof Series) => {
    const folder = join(directory, build)
    await mkdir(folder)
    return open({ ...options, directory: folder, dist: builds[build] })
  }
  const other = await openBuild('other')
  try {
    const current = await openBuild('current')
    try {
      for (let round = 0; round < rounds; round++)
        for (const [i, unit] of current.units.entries()) {
          options.progress(`round ${round + 1} of ${rounds}: ${unit.name}`)
          const measureOther = async () => note(series, 'other', (await other.units[i]?.measure()) ?? {})
          const measureCurrent = async () => note(series, 'current', await unit.measure())
          const order = round % 2 === 0 ? [measureOther, measureCurrent] : [measureCurrent, measureOther]
          for (const measure of order) await measure()
        }
      return series
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
  const ratios = current.map((rate, round) => rate / (other[round] ?? Number.NaN))
  return {
    scenario,
    other: roundFigure(median(other)),
    current: roundFigure(median(current)),
    ratio: roundFigure(median(ratios)),
    lowest: roundFigure(Math.min(...ratios)),
    highest: roundFigure(Math.max(...ratios)),
  }
}

function concludeFrom(rows: readonly Row[], rounds: number): string {
  const [lowest] = rows.toSorted((a, b) => Number(a['ratio']) - Number(b['ratio']))
  return (
    `Over ${rounds} rounds in turns, the lowest median ratio is ${lowest?.['ratio']} (${lowest?.['scenario']}); ` +
    'above 1 means that this build is faster.'
  )
}
