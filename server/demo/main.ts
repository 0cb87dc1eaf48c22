import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { certificatesFromPem } from '../../core/verify/index.ts'
import { checkBundle } from './bundle.ts'
import { CheckSummary, table } from './check-summary.ts'
import { connect, type Connection } from './client.ts'
import { HELP, parseOptions, UsageError, type DemoOptions } from './options.ts'
import { Progress } from './progress.ts'
import { recheckFiles, recheckHistories, recheckLog, recheckProofs } from './recheck.ts'
import { register, type Registered } from './register.ts'
import { startService, type Service } from './service.ts'
import { findFiles, type SourceFile } from './source.ts'
import { Tamper } from './tamper.ts'

/**
 * `npm run demo [-- DIR]`: registers every file below a directory with a real server, changes some evidences, waits
 * until everything is sealed and confirmed, and checks everything again from the responses alone. Of the server it
 * imports only the typed client, and of the core only the verifiers.
 */
const CONFIRM_TIMEOUT_MS = 120_000
const POLL_MS = 200
/** A failure, or wrong arguments. */
const [EXIT_FAILURE, EXIT_USAGE] = [1, 2]

/** Measures how long each stage takes. */
class Stages {
  readonly seconds: [string, string][] = []

  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now()
    try {
      return await work()
    } finally {
      this.seconds.push([name, ((performance.now() - startedAt) / 1_000).toFixed(1)])
    }
  }
}

interface Run {
  readonly service: Service
  readonly dataDir: string
  readonly files: readonly SourceFile[]
  readonly tamper: DemoOptions['tamper']
}

/** Returns whether every check passed. */
async function demo({ service, dataDir, files, tamper }: Run): Promise<boolean> {
  const [progress, summary, stages] = [new Progress(), new CheckSummary(), new Stages()]
  const { baseUrl, operatorKey } = service
  const operator = connect({ baseUrl, apiKey: operatorKey })
  const { apiKey = '' } = await operator.client.createSourceSystem({ name: 'demo', permissions: 'U' })
  const registered = await stages.run('register, update, transfer, delete', () =>
    register(connect({ baseUrl, apiKey }).client, files, progress),
  )
  progress.print(describe(registered))
  await stages.run('wait until sealed, stamped, confirmed', () =>
    waitUntilConfirmed(operator, registered.lastTxId, progress),
  )
  const pem = await readFile(join(dataDir, 'tsa/ca.pem'), 'utf8')
  const connection = connect({ baseUrl, apiKey, ...(tamper.length > 0 && { tamper: new Tamper(tamper) }) })
  const { receipts } = registered
  const recheck = { connection, receipts, trustAnchors: certificatesFromPem(pem), summary, progress }
  const log = await stages.run('check the log', () => recheckLog(recheck))
  const evidences = await stages.run('check histories', () => recheckHistories(recheck, log))
  await stages.run('check proofs', () => recheckProofs(recheck, evidences, log))
  await stages.run('check file bytes', () => recheckFiles(recheck, evidences))
  const [receipt] = receipts
  if (receipt !== undefined)
    await stages.run('check a proof bundle', () =>
      checkBundle({ connection, receipt, directory: dataDir, summary, progress }),
    )
  progress.print('')
  report(summary, stages)
  return summary.failures.length === 0
}

const describe = ({ receipts, updates, transfers, deletions }: Registered): string =>
  `registered ${receipts.length} files; ${updates} updates, ${transfers} transfers, ${deletions} file deleted`

/** All other events are before the last one in the log, so they are confirmed once its batch is. */
async function waitUntilConfirmed({ client }: Connection, txId: string, progress: Progress): Promise<void> {
  for (const end = performance.now() + CONFIRM_TIMEOUT_MS; performance.now() < end; await sleep(POLL_MS)) {
    const proof = await client.getProof({ txId })
    if (proof.status === 'ok' && proof.sendStatus === 'C') return
    progress.show(`waiting: ${proof.status === 'ok' ? 'sealed, its anchor is not confirmed yet' : 'not sealed yet'}`)
  }
  throw new Error(`Not confirmed after ${CONFIRM_TIMEOUT_MS / 1_000} s`)
}

function report({ rows, failures }: CheckSummary, { seconds }: Stages): void {
  console.log(table(['checked, from the responses alone', 'ok', 'failed'], rows))
  console.log(`\n${table(['stage', 'seconds'], seconds)}\n`)
  for (const line of failures) console.log(`FAILED ${line}`)
  const failed = rows.reduce((sum, [, , count]) => sum + count, 0)
  const all = rows.reduce((sum, [, ok]) => sum + ok, failed).toLocaleString('en')
  console.log(failed === 0 ? `All ${all} checks passed.` : `${failed.toLocaleString('en')} of ${all} checks failed.`)
}

const nextSteps = (dataDir: string | undefined): string =>
  [
    'Where to look next:',
    '  core/verify/README.md: the same checks with openssl and a few lines of shell',
    '  core/verify/: the code of these checks; server/demo/recheck.ts: how it is called',
    dataDir === undefined
      ? '  npm run demo -- --keep: keeps the data directory, to start a server on it'
      : `  EVIDENCE_DATA_DIR=${dataDir} npm start, then http://127.0.0.1:8080/docs; npm run fsck -- --data-dir ${dataDir}`,
  ].join('\n')

/** Returns the exit code. */
async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args)
  if (options === undefined) {
    process.stdout.write(HELP)
    return 0
  }
  const { directory, keep } = options
  const found = await stat(directory).catch(() => undefined)
  if (found?.isDirectory() !== true) throw new UsageError(`${directory} is not a directory: name one with files`)
  const { files, skipped } = await findFiles(directory, options.excluded)
  if (files.length === 0) throw new UsageError(`there is no file below ${directory}: name a directory with files`)
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  console.log(`${directory}: ${files.length} files, ${(bytes / 1e6).toFixed(1)} MB`)
  for (const path of skipped) console.log(`skipped: ${path}`)

  const dataDir = await mkdtemp(join(tmpdir(), 'evidence-demo-'))
  let service: Service | undefined
  try {
    service = await startService(dataDir, interruption.signal)
    const ok = await untilInterrupted(demo({ service, dataDir, files, tamper: options.tamper }))
    console.log(nextSteps(keep ? dataDir : undefined))
    return ok ? 0 : 1
  } finally {
    await service?.stop()
    if (!keep) await rm(dataDir, { recursive: true, force: true })
  }
}

/** A signal ends the work early, so that the server is stopped and the data is removed. */
const interruption = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => interruption.abort(new Error(`Ended by ${name}`)))

function untilInterrupted<T>(work: Promise<T>): Promise<T> {
  const { signal } = interruption
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    work.then(resolve, reject)
  })
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  console.error(`demo: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = error instanceof UsageError ? EXIT_USAGE : EXIT_FAILURE
}
