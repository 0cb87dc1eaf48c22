import { CASES, STANDARD_CASE } from './cases/index.ts'
import { compareBuilds, findBuildProblem } from './compare/index.ts'
import { SCENARIO_NAMES } from './compare/scenarios.ts'
import type { BenchCase } from './run/case.ts'
import type { Row } from './run/row.ts'
import { describeMachine, formatMachine, type Machine } from './run/machine.ts'
import { HELP, parseCommand, type Command } from './run/options.ts'
import { redrawPicture, saveResult, type RecordedResult } from './run/results.ts'

/** The command line of `npm run bench`. Exit codes: 0 done, 2 wrong arguments; anything else is a failure. */

const QUICK_NOTE = 'QUICK RUN: it only shows that the benchmark works. Its figures mean nothing. Nothing is saved.'

/** Shows how far a run is. */
const progress = (text: string): void => console.error(text)

function failUsage(message: string): void {
  console.error(message)
  process.exitCode = 2
}

/** Prints a table for each kind of rows: those with the same first column. It has the columns that any of them has. */
function printTables(columns: Readonly<Record<string, string>>, rows: readonly Row[]): void {
  const firstOf = (row: Row): string | undefined => Object.keys(columns).find((key) => row[key] !== undefined)
  for (const first of new Set(rows.map(firstOf))) {
    const own = rows.filter((row) => firstOf(row) === first)
    const shown = Object.entries(columns).filter(([key]) => own.some((row) => row[key] !== undefined))
    console.table(own.map((row) => Object.fromEntries(shown.map(([key, heading]) => [heading, row[key]]))))
  }
}

/** Prints one sentence that names the machine, to be quoted. */
const printConclusion = (sentence: string, machine: Machine): void =>
  console.log(`${sentence.replace(/\.$/, '')} (${formatMachine(machine)}).`)

async function measure(bench: BenchCase, { quick, evidences }: RunOptions): Promise<RecordedResult> {
  const [begin, at, machine] = [performance.now(), new Date().toISOString(), describeMachine()]
  const result = await bench.run({
    quick,
    ...(evidences !== undefined && { evidences }),
    progress: (text) => progress(`${bench.name}: ${text}`),
  })
  const seconds = Math.round((performance.now() - begin) / 1_000)
  return { bench: bench.name, at, machine, seconds, ...result }
}

type RunOptions = Extract<Command, { kind: 'run' }>

async function runCases(options: RunOptions) {
  const { names, quick, save } = options
  if (quick) console.log(QUICK_NOTE)
  for (const bench of CASES.filter(({ name }) => names.includes(name))) {
    console.log(`\n${bench.name}: ${bench.measures}`)
    const result = await measure(bench, options)
    printTables(bench.columns, result.rows)
    printConclusion(bench.conclude(result), result.machine)
    if (save) await saveResult(bench, result)
    console.log(`Took ${result.seconds} s.${save ? ` Saved in bench/results/${bench.name}.json.` : ''}`)
  }
  if (quick) console.log(QUICK_NOTE)
}

async function drawAll(): Promise<void> {
  for (const bench of CASES) {
    const path = await redrawPicture(bench)
    if (path !== undefined) console.log(path)
  }
}

async function compare({ kind: _, ...options }: Extract<Command, { kind: 'compare' }>): Promise<void> {
  const problem = findBuildProblem(options.against)
  if (problem !== undefined) return failUsage(problem)
  if (options.quick) console.log(QUICK_NOTE)
  const report = await compareBuilds({ ...options, progress })
  printTables(report.columns, report.rows)
  printConclusion(report.conclusion, describeMachine())
}

async function main(command: Command): Promise<void> {
  switch (command.kind) {
    case 'help':
      return console.log(HELP)
    case 'list':
      return console.log(CASES.map(({ name, measures }) => `${name}: ${measures}`).join('\n'))
    case 'draw':
      return drawAll()
    case 'compare':
      return compare(command)
    case 'run':
      return runCases(command)
    case 'error':
      return failUsage(command.message)
  }
}

const known = { cases: CASES.map(({ name }) => name), standard: STANDARD_CASE.name, comparisons: SCENARIO_NAMES }
await main(parseCommand(process.argv.slice(2), known))
