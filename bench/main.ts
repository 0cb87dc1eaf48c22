import { CASES, STANDARD_CASE } from './cases/index.ts'
import { compareBuilds, findBuildProblem } from './compare/index.ts'
import { SCENARIO_NAMES } from './compare/scenarios.ts'
import type { BenchCase, BenchResult } from './run/case.ts'
import type { Row } from './run/row.ts'
import { describeMachine, formatMachine, type Machine } from './run/machine.ts'
import { HELP, parseCommand, type Command } from './run/options.ts'
import { createProgress } from './run/progress.ts'
import { redrawPicture, saveResult, type RecordedResult } from './run/results.ts'
import { formatTable, wrap } from './run/table.ts'

/** The command line of `npm run bench`. Exit codes: 0 done, 2 wrong arguments; anything else is a failure. */

const WIDTH = 100
const QUICK_NOTE = 'QUICK RUN: it only shows that the benchmark works. Its figures mean nothing. Nothing is saved.'

const progress = createProgress(process.stderr)

const print = (text: string): void => {
  progress.clear()
  console.log(text)
}

function failUsage(message: string): void {
  console.error(message)
  process.exitCode = 2
}

const printParagraph = (text: string): void => print(`\n${wrap(text, WIDTH).join('\n')}`)

/** Prints one sentence that names the machine, to be quoted. */
const printConclusion = (sentence: string, machine: Machine): void =>
  printParagraph(`${sentence.replace(/\.$/, '')} (${formatMachine(machine)}).`)

async function measure(bench: BenchCase, quick: boolean): Promise<RecordedResult> {
  const [begin, at, machine] = [performance.now(), new Date().toISOString(), describeMachine()]
  const show = (text: string): void => progress.show(`${bench.name}: ${text}`)
  const result = await bench.run({ quick, progress: show })
  const seconds = Math.round((performance.now() - begin) / 1_000)
  return { bench: bench.name, at, machine, seconds, ...result }
}

/** Notes that belong to rows but would make the table too wide. */
function notesOf({ columns }: BenchCase, { rows }: BenchResult): readonly string[] {
  if ('note' in columns) return []
  const labelOf = (row: Row): string => Object.values(row).find((value) => typeof value === 'string') ?? ''
  const notes = rows.filter(({ note = '' }) => note !== '').map((row) => `${labelOf(row)}: ${row['note']}`)
  return [...new Set(notes)]
}

function printResult(bench: BenchCase, result: RecordedResult): void {
  print(`\n${formatTable(bench.columns, result.rows)}`)
  for (const note of notesOf(bench, result)) print(wrap(`* ${note}`, WIDTH).join('\n'))
  printConclusion(bench.conclude(result), result.machine)
}

async function runCases(
  names: readonly string[],
  { quick, save }: { readonly quick: boolean; readonly save: boolean },
) {
  if (quick) print(QUICK_NOTE)
  for (const bench of CASES.filter(({ name }) => names.includes(name))) {
    printParagraph(`${bench.name}: ${bench.measures}`)
    const result = await measure(bench, quick)
    printResult(bench, result)
    if (save) await saveResult(bench, result)
    print(`\nTook ${result.seconds} s.${save ? ` Saved in bench/results/${bench.name}.json.` : ''}`)
  }
  if (quick) print(`\n${QUICK_NOTE}`)
}

async function drawAll(): Promise<void> {
  for (const bench of CASES) {
    const path = await redrawPicture(bench)
    if (path !== undefined) print(path)
  }
}

async function compare({ kind: _, ...options }: Extract<Command, { kind: 'compare' }>): Promise<void> {
  const problem = findBuildProblem(options.against)
  if (problem !== undefined) return failUsage(problem)
  if (options.quick) print(QUICK_NOTE)
  const report = await compareBuilds({ ...options, progress: (text) => progress.show(text) })
  print(`\n${formatTable(report.columns, report.rows)}`)
  printConclusion(report.conclusion, describeMachine())
}

const listCases = (): string =>
  formatTable(
    { name: 'name', measures: 'measures' },
    CASES.map(({ name, measures }) => ({ name, measures })),
  )

async function main(command: Command): Promise<void> {
  switch (command.kind) {
    case 'help':
      return print(HELP)
    case 'list':
      return print(listCases())
    case 'draw':
      return drawAll()
    case 'compare':
      return compare(command)
    case 'run':
      return runCases(command.names, command)
    case 'error':
      return failUsage(command.message)
  }
}

const known = { cases: CASES.map(({ name }) => name), standard: STANDARD_CASE.name, comparisons: SCENARIO_NAMES }
await main(parseCommand(process.argv.slice(2), known))
