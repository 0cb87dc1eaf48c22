import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { part as fuzz } from './fuzz/index.ts'
import { part as kill } from './kill/index.ts'
import { textOf, type FaultPart, type FaultResult } from './part.ts'
import { part as powerLoss } from './power-loss/index.ts'
import { part as simulation } from './simulation/index.ts'
import { part as systemCalls } from './system-calls/index.ts'
import { part as tampering } from './tampering/index.ts'

/**
 * The fault harness: `npm run test:faults -- [--long] [--only PART]... [--seed N] [--count N]`. Runs two parts
 * at a time, each in a process of its own. Exit codes: 0 all passed, 1 failures, or a part that could not run in CI.
 */

/** In the order in which they begin: first those that take longest. */
const PARTS: readonly FaultPart[] = [simulation, systemCalls, tampering, kill, powerLoss, fuzz]
/** Some parts wait for their servers, and others use one core. */
const PARTS_AT_ONCE = 2
const MAX_FAILURES_SHOWN = 20
const PROGRESS_INTERVAL_MS = 10_000

const { values: flags } = parseArgs({
  options: {
    long: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: PARTS.map(({ name }) => name) },
    seed: { type: 'string', default: '1' },
    count: { type: 'string' },
  },
})
const seed = integer('--seed', flags.seed, 0)
const givenCount = flags.count === undefined ? undefined : integer('--count', flags.count, 1)
const chosen = flags.only.map((name) => PARTS.find((part) => part.name === name) ?? fail(`There is no part ${name}`))

function fail(message: string): never {
  throw new Error(message)
}

function integer(flag: string, text: string, least: number): number {
  const value = Number(text)
  return Number.isSafeInteger(value) && value >= least ? value : fail(`${flag} must be an integer of at least ${least}`)
}

interface Row {
  readonly part: FaultPart
  readonly result: FaultResult
  readonly seconds: number
}

const write = (text: string): void => void process.stdout.write(text)

async function runPart(part: FaultPart): Promise<Row> {
  const count = givenCount ?? part.count[flags.long ? 'long' : 'short']
  write(`${part.name}: ${count.toLocaleString('en')} cases from seed ${seed}\n`)
  const startedAt = performance.now()
  const seconds = (): number => Math.round((performance.now() - startedAt) / 1000)
  let shownAt = startedAt
  const progress = (done: number): void => {
    if (performance.now() - shownAt < PROGRESS_INTERVAL_MS) return
    shownAt = performance.now()
    write(`${part.name}: ${done.toLocaleString('en')} cases, ${seconds()} s\n`)
  }
  const result = await part.run({ count, seed, long: flags.long, progress }).catch((error: unknown) => stopped(error))
  writeFailures(part, result.failures)
  return { part, result, seconds: seconds() }
}

const stopped = (reason: unknown): FaultResult => ({
  cases: 0,
  figures: 'stopped',
  failures: [{ seed, message: textOf(reason) }],
})

function writeFailures({ name }: FaultPart, failures: FaultResult['failures']): void {
  const long = flags.long ? '--long ' : ''
  for (const { seed: own, message } of failures.slice(0, MAX_FAILURES_SHOWN))
    write(
      `\n${name}, seed ${own}: ${message}\n  repeat it with: ` +
        `npm run test:faults -- ${long}--only ${name} --seed ${own} --count 1\n`,
    )
  if (failures.length > MAX_FAILURES_SHOWN) write(`\n${name}: ${failures.length} failures\n`)
}

/** Runs a part in a process of its own, which writes all but the table. */
function forkPart(part: FaultPart): Promise<Row> {
  const counted = givenCount === undefined ? [] : ['--count', String(givenCount)]
  const args = [...(flags.long ? ['--long'] : []), ...counted, '--seed', String(seed), '--only', part.name]
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), args)
    let row: Row | undefined
    child.on('message', (message: Omit<Row, 'part'>) => (row = { part, ...message }))
    child.once('error', reject)
    // After its last message.
    child.once('close', (code, signal) =>
      resolve(row ?? { part, result: stopped(`The process of ${part.name} ended with ${signal ?? code}`), seconds: 0 }),
    )
  })
}

/** In CI everything must have run. */
const isPassed = ({ result: { cases, failures, skipped } }: Row): boolean =>
  failures.length === 0 && (skipped === undefined ? cases > 0 : !process.env['CI'])

function writeTable(rows: readonly Row[]): void {
  write('\n| part | cases | found | time | result | passes when |\n|---|---|---|---|---|---|\n')
  for (const row of rows) {
    const { cases, figures, skipped } = row.result
    const found = skipped === undefined ? figures : `not run: ${skipped}`
    const cells = [
      row.part.name,
      cases.toLocaleString('en'),
      found,
      `${row.seconds} s`,
      isPassed(row) ? 'passed' : 'FAILED',
    ]
    write(`| ${[...cells, row.part.passesWhen].join(' | ')} |\n`)
  }
}

const rows: Row[] = []
const run = chosen.length === 1 ? runPart : forkPart
const queue = chosen.entries()
const lane = async (): Promise<void> => {
  for (const [i, part] of queue) rows[i] = await run(part)
}
await Promise.all(Array.from({ length: PARTS_AT_ONCE }, lane))
if (process.send === undefined) writeTable(rows)
else for (const { result, seconds } of rows) process.send({ result, seconds })
process.exitCode = rows.every(isPassed) ? 0 : 1
