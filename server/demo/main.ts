import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { MerkleProof } from '../../core/registry/proof/schemas.ts'
import { certificatesFromPem } from '../../core/verify/index.ts'
import { Client, Tamper, TAMPERINGS, type Tampering } from './client.ts'
import { Progress } from './progress.ts'
import { recheckFiles, recheckHistories, recheckLog, recheckProofs } from './recheck.ts'
import { COMPANY, register } from './register.ts'
import { startService, type Service } from './service.ts'
import { findFiles, type Found } from './source.ts'
import { table, CheckSummary } from './check-summary.ts'

/**
 * `npm run demo [-- DIR]`: registers every file below a directory with a real server, changes some, waits until all is sealed and confirmed, and
 * re-checks everything from the answers alone. Imports nothing of the server: only core and Node.
 */
const HELP = `Usage: npm run demo [-- DIR] [--keep] [--tamper KINDS]

Registers every file below DIR (default: this project's own source tree) as an evidence, updates and transfers some,
deletes a file, waits until everything is sealed and confirmed, then re-checks everything from the answers alone.

  --keep          keep the data directory, and say where it is
  --tamper KINDS  change one byte in one answer of each kind, to see the demo fail: ${TAMPERINGS.join(', ')}

Ends with 0 where every check held, with 1 where one failed.
`

/** Not passed over where a directory is named: then every file is meant. */
const OWN_TREE_WITHOUT: ReadonlySet<string> = new Set(['node_modules', 'dist', '.git', 'coverage', 'data'])
const CONFIRM_MS = 120_000
const POLL_MS = 200

interface Asked {
  readonly directory: string
  readonly passOver: ReadonlySet<string>
  readonly keep: boolean
  readonly tamper: readonly Tampering[]
}

/** `undefined`: only the help is asked for. Throws for what it does not know. */
function parse(): Asked | undefined {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      keep: { type: 'boolean', default: false },
      tamper: { type: 'string', default: '' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return undefined
  if (positionals.length > 1) throw new Error('It takes one directory')
  const kinds = values.tamper.split(',').filter((kind) => kind !== '')
  const unknown = kinds.find((kind) => !(TAMPERINGS as readonly string[]).includes(kind))
  if (unknown !== undefined) throw new Error(`--tamper takes ${TAMPERINGS.join(', ')}, not ${unknown}`)
  const [directory] = positionals
  return {
    directory: resolve(directory ?? ownTree()),
    passOver: directory === undefined ? OWN_TREE_WITHOUT : new Set(),
    keep: values.keep,
    tamper: kinds as Tampering[],
  }
}

/** The project's root: above `server/demo`, or above `dist/server/demo` where it is built. */
function ownTree(): string {
  const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
  return import.meta.url.endsWith('.js') ? dirname(root) : root
}

class Stages {
  readonly seconds: [string, string][] = []

  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const begun = performance.now()
    try {
      return await work()
    } finally {
      this.seconds.push([name, ((performance.now() - begun) / 1_000).toFixed(1)])
    }
  }
}

/** Answers whether every check held. */
async function demo(asked: Asked, service: Service, dataDir: string, found: Found): Promise<boolean> {
  const [progress, tally, stages] = [new Progress(), new CheckSummary(), new Stages()]
  const operator = new Client(service.baseUrl, { apiKey: service.operatorKey })
  const { apiKey } = (await operator.json('POST', `/sourceSystem/${COMPANY}`, { name: 'demo', permissions: 'U' })) as {
    readonly apiKey: string
  }
  const registered = await stages.run('register, update, transfer, delete', () =>
    register(new Client(service.baseUrl, { apiKey }), found.files, progress),
  )
  const { receipts, updates, transfers, deletions, lastTxId } = registered
  progress.say(
    `registered ${receipts.length} files; ${updates} updates, ${transfers} transfers, ${deletions} file deleted`,
  )
  await stages.run('wait until sealed, stamped, confirmed', () => confirmed(operator, lastTxId, progress))

  const pem = await readFile(join(dataDir, 'tsa/ca.pem'), 'utf8')
  const client = new Client(service.baseUrl, {
    apiKey,
    ...(asked.tamper.length > 0 && { tamper: new Tamper(asked.tamper) }),
  })
  const recheck = { client, receipts, trustAnchors: certificatesFromPem(pem), tally, progress }
  const log = await stages.run('re-check the log', () => recheckLog(recheck))
  const checked = await stages.run('re-check histories', () => recheckHistories(recheck, log))
  await stages.run('re-check proofs', () => recheckProofs(recheck, checked, log))
  await stages.run('re-check file bytes', () => recheckFiles(recheck, checked))
  progress.say('')
  report(tally, stages)
  return tally.told.length === 0
}

/** The last event that was written is in the log behind all others: once its batch is confirmed, so are theirs. */
async function confirmed(client: Client, txId: string, progress: Progress): Promise<void> {
  const end = performance.now() + CONFIRM_MS
  for (;;) {
    const { status, sendStatus } = (await client.get(`/merkle/proof/${txId}`)) as MerkleProof
    if (sendStatus === 'C') return
    progress.show(`waiting: ${status === 'ok' ? 'sealed, its anchor is not confirmed yet' : 'not sealed yet'}`)
    if (performance.now() > end) throw new Error(`Not confirmed after ${CONFIRM_MS / 1_000} s`)
    await sleep(POLL_MS)
  }
}

function report(tally: CheckSummary, { seconds }: Stages): void {
  console.log(table(['checked, from the answers alone', 'ok', 'failed'], tally.rows))
  console.log(`\n${table(['stage', 'seconds'], seconds)}\n`)
  for (const line of tally.told) console.log(`FAILED ${line}`)
  const [ok, failed] = [1, 2].map((column) => tally.rows.reduce((sum, row) => sum + (row[column] as number), 0)) as [
    number,
    number,
  ]
  const all = (ok + failed).toLocaleString('en')
  console.log(
    failed === 0 ? `Every one of ${all} checks held.` : `${failed.toLocaleString('en')} of ${all} checks failed.`,
  )
}

const nextSteps = (keptIn: string | undefined): string =>
  [
    'Where to look next:',
    '  README.md, "Checking a proof by hand": the same with openssl and a few lines of shell',
    '  core/verify/: the code that checked all this; server/demo/recheck.ts: how it was called',
    keptIn === undefined
      ? '  npm run demo -- --keep: keeps the data directory, to start a server on it'
      : `  EVIDENCE_DATA_DIR=${keptIn} npm start, then http://127.0.0.1:8080/docs; npm run fsck -- --data-dir ${keptIn}`,
  ].join('\n')

async function main(): Promise<number> {
  const asked = parse()
  if (asked === undefined) {
    process.stdout.write(HELP)
    return 0
  }
  if (!(await stat(asked.directory)).isDirectory()) throw new Error(`${asked.directory} is no directory`)
  const found = await findFiles(asked.directory, asked.passOver)
  if (found.files.length === 0) throw new Error(`There is no file below ${asked.directory}`)
  const bytes = found.files.reduce((sum, { size }) => sum + size, 0)
  console.log(`${asked.directory}: ${found.files.length} files, ${(bytes / 1e6).toFixed(1)} MB`)
  for (const path of found.leftOut) console.log(`left out: ${path}`)

  const dataDir = await mkdtemp(join(tmpdir(), 'evidence-demo-'))
  let service: Service | undefined
  try {
    service = await startService(dataDir, interrupted)
    const ok = await untilInterrupted(demo(asked, service, dataDir, found))
    console.log(nextSteps(asked.keep ? dataDir : undefined))
    return ok ? 0 : 1
  } finally {
    await service?.stop()
    if (!asked.keep) await rm(dataDir, { recursive: true, force: true })
  }
}

/** A signal ends the work early, so that the server is stopped and the data removed. */
const interruption = new AbortController()
const interrupted = interruption.signal
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => interruption.abort(new Error(`Ended by ${name}`)))

function untilInterrupted<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolvePromise, reject) => {
    interrupted.addEventListener('abort', () => reject(interrupted.reason as Error), { once: true })
    work.then(resolvePromise, reject)
  })
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(`demo: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
}
