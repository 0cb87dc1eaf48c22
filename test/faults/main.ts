import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { part as fuzz } from './fuzz/index.ts'
import { part as kill } from './kill/index.ts'
import { part as mutants } from './mutants/index.ts'
import type { FaultPart, FaultResult } from './part.ts'
import { part as powerLoss } from './power-loss/index.ts'
import { part as systemCalls } from './system-calls/index.ts'
import { part as simulation } from './simulation/index.ts'
import { part as tampering } from './tampering/index.ts'

/**
 * The fault harness: `npm run test:faults -- [--long] [--only PART]... [--seed N] [--count N]`. Runs two parts
 * at a time. Exit codes: 0 all passed, 1 failures, or a part that could not run in CI, 2 usage error.
 */

/** In the order in which they begin: first those that take longest. */
const PARTS: readonly FaultPart[] = [systemCalls, tampering, kill, simulation, powerLoss, fuzz, mutants]
/** Some parts wait for their servers, and others use one core. */
const PARTS_AT_ONCE = 2

interface Flags {
  readonly long: boolean
  readonly only: readonly string[]
  readonly seed: number
  readonly count: number | undefined
}

/** What the process of a part reports. */
interface Report {
  readonly result: FaultResult
  readonly seconds: number
}

interface Row extends Report {
  readonly part: FaultPart
}

const MAX_FAILURES_SHOWN = 20
const PROGRESS_INTERVAL_MS = 10_000

const write = (text: string): void => void process.stdout.write(text)

/** Returns the flags, or the text that says what is wrong with them. */
function readFlags(args: readonly string[]): Flags | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        long: { type: 'boolean', default: false },
        only: { type: 'string', multiple: true, default: [] },
        seed: { type: 'string', default: '1' },
        count: { type: 'string' },
      },
    })
    const [seed, count] = [Number(values.seed), values.count === undefined ? undefined : Number(values.count)]
    if (!Number.isSafeInteger(seed) || seed < 0) return `--seed must be an integer of at least 0, got ${values.seed}`
    if (count !== undefined && !(Number.isSafeInteger(count) && count > 0))
      return `--count must be an integer of at least 1, got ${values.count}`
    const unknown = values.only.find((name) => !PARTS.some((part) => part.name === name))
    if (unknown !== undefined)
      return `--only must be one of ${PARTS.map(({ name }) => name).join(', ')}, got ${unknown}`
    return { long: values.long, only: values.only, seed, count }
  } catch (error) {
    return (error as Error).message
  }
}

async function runPart(part: FaultPart, { long, seed, count }: Flags): Promise<Row> {
  const cases = count ?? part.count[long ? 'long' : 'short']
  write(`${part.name}: ${cases.toLocaleString('en')} cases from seed ${seed}\n`)
  const startedAt = performance.now()
  const secondsSince = (): number => (performance.now() - startedAt) / 1000
  let shownAt = startedAt
  const progress = (done: number): void => {
    if (performance.now() - shownAt < PROGRESS_INTERVAL_MS) return
    shownAt = performance.now()
    write(
      `${part.name}: ${done.toLocaleString('en')} of ${cases.toLocaleString('en')}, ${secondsSince().toFixed(0)} s\n`,
    )
  }
  const result = await part
    .run({ count: cases, seed, long, progress })
    .catch((error: unknown) => ({ cases: 0, figures: 'stopped', failures: [{ seed, message: textOf(error) }] }))
  const row = { part, result, seconds: secondsSince() }
  write(`${part.name}: ${verdictOf(row)} in ${row.seconds.toFixed(0)} s: ${result.figures}\n`)
  writeFailures(row, long)
  return row
}

/** Runs a part in a process of its own, which writes all but the table. */
function forkPart(part: FaultPart, { long, seed, count }: Flags): Promise<Row> {
  const counted = count === undefined ? [] : ['--count', String(count)]
  const args = [...(long ? ['--long'] : []), ...counted, '--seed', String(seed), '--only', part.name]
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), args)
    const startedAt = performance.now()
    let report: Report | undefined
    child.on('message', (message: Report) => (report = message))
    child.once('error', reject)
    // After its last message.
    child.once('close', (code, signal) => {
      if (report !== undefined) return resolve({ part, ...report })
      const failures = [{ seed, message: `The process of the part ended with ${signal ?? code}` }]
      const seconds = (performance.now() - startedAt) / 1000
      const row = { part, result: { cases: 0, figures: 'stopped', failures }, seconds }
      writeFailures(row, long)
      resolve(row)
    })
  })
}

/** Runs a single part in this process, and several in processes of their own. */
async function runParts(parts: readonly FaultPart[], flags: Flags): Promise<readonly Row[]> {
  const [first] = parts
  if (first !== undefined && parts.length === 1) return [await runPart(first, flags)]
  const rows: Row[] = []
  const queue = parts.entries()
  const lane = async (): Promise<void> => {
    for (const [i, part] of queue) rows[i] = await forkPart(part, flags)
  }
  await Promise.all(Array.from({ length: PARTS_AT_ONCE }, lane))
  return rows
}

const textOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error))

function writeFailures({ part, result }: Row, long: boolean): void {
  for (const { seed, message } of result.failures.slice(0, MAX_FAILURES_SHOWN))
    write(
      `\n${part.name}, seed ${seed}: ${message}\n  repeat it with: ` +
        `npm run test:faults -- ${long ? '--long ' : ''}--only ${part.name} --seed ${seed} --count 1\n`,
    )
  const more = result.failures.length - MAX_FAILURES_SHOWN
  if (more > 0) write(`\n${part.name}: ${more} more failures\n`)
}

/** In CI everything must have run. */
const isPassed = ({ result }: Row): boolean =>
  result.failures.length === 0 && (!result.skipped || !process.env['CI']) && (result.cases > 0 || !!result.skipped)

const verdictOf = (row: Row): string => (isPassed(row) ? 'passed' : 'FAILED')

function writeTable(rows: readonly Row[]): void {
  write('\n| part | cases | found | time | result | passes when |\n|---|---|---|---|---|---|\n')
  for (const row of rows) {
    const { part, result, seconds } = row
    const figures = result.skipped ? `${result.figures}; not run: ${result.skipped}` : result.figures
    const cells = [part.name, result.cases.toLocaleString('en'), figures, `${seconds.toFixed(0)} s`, verdictOf(row)]
    write(`| ${[...cells, part.passesWhen].join(' | ')} |\n`)
  }
}

const flags = readFlags(process.argv.slice(2))
if (typeof flags === 'string') {
  process.stderr.write(`${flags}\n`)
  process.exitCode = 2
} else {
  const parts = PARTS.filter(({ name }) => flags.only.length === 0 || flags.only.includes(name))
  const rows = await runParts(parts, flags)
  if (process.send === undefined) writeTable(rows)
  else for (const { result, seconds } of rows) process.send({ result, seconds } satisfies Report)
  process.exitCode = rows.every(isPassed) ? 0 : 1
}
