import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { EXIT_START_AGAIN } from '../../../server/startup/failed-store.ts'
import { eventually } from '../../support/eventually.ts'
import { withTemporary } from '../../support/temporary.ts'
import { Interposer } from '../interposer/index.ts'
import { controlFailures, named, type FaultPart, type FaultResult, type FaultRun } from '../part.ts'
import { runCases } from '../run-cases.ts'
import { checkDirectory } from '../workload/check.ts'
import { HttpWriter } from '../workload/http-writer.ts'
import { Load } from '../workload/load.ts'
import { FaultServer } from '../workload/server.ts'
import { describePlan, planOf, WORDS, type FaultPlan } from './plan.ts'

const WORKERS = 6
/** Acknowledged writes before the calls begin to fail. */
const WRITES_BEFORE = 15
/** Writes with any outcome while the calls fail. */
const WRITES_DURING = 40
/** Time between two attempts to write after the calls work again. */
const RETRY_MS = 250

export const part: FaultPart = {
  name: 'system-calls',
  passesWhen: 'Whatever system call fails, no acknowledged write is lost, and the server goes on or says what to do',
  count: { short: 10, long: 60 },
  run,
}

async function run(options: FaultRun): Promise<FaultResult> {
  const result = await Interposer.with((interposer) => runWith(interposer, options))
  return typeof result === 'string' ? { cases: 0, failures: [], figures: 'none', skipped: result } : result
}

async function runWith(interposer: Interposer, options: FaultRun): Promise<FaultResult> {
  const { results, failures } = await runCases(options, (seed) => runCase(interposer, seed, planOf(seed)))
  const isNoticed = await isControlNoticed(interposer, options.seed)
  const count = (is: (result: CaseResult) => boolean): number => results.filter(is).length
  const acknowledged = results.reduce((sum, result) => sum + result.acknowledged, 0)
  return {
    cases: results.length + failures.length,
    failures: [...failures, ...controlFailures(options.seed, isNoticed, 'a disk that drops writes')],
    figures:
      `${acknowledged.toLocaleString('en')} writes acknowledged, 0 lost in ${results.length} cases, in ` +
      `${count(({ hits }) => hits > 0)} of which a call failed; ${count(({ isRefused }) => isRefused)} starts ` +
      `refused; the control was noticed: ${isNoticed ? 'yes' : 'no'}`,
  }
}

interface CaseResult {
  readonly acknowledged: number
  /** How many calls failed. */
  readonly hits: number
  /** Whether the server did not start, and said why. */
  readonly isRefused: boolean
}

const runCase = (interposer: Interposer, seed: number, plan: FaultPlan): Promise<CaseResult> =>
  named(describePlan(plan), () =>
    withTemporary((folder) => new Case({ interposer, folder, load: new Load(), plan, seed }).run()),
  )

interface CaseOptions {
  readonly interposer: Interposer
  readonly folder: string
  readonly load: Load
  readonly plan: FaultPlan
  readonly seed: number
}

class Case {
  readonly #options: CaseOptions
  readonly #data: string
  /** Calls fail while it exists. */
  readonly #switchPath: string
  readonly #hitsPath: string

  constructor(options: CaseOptions) {
    this.#options = options
    this.#data = join(options.folder, 'data')
    this.#switchPath = join(options.folder, 'switch')
    this.#hitsPath = join(options.folder, 'hits')
  }

  async run(): Promise<CaseResult> {
    const { plan, load } = this.#options
    if (plan.phase === 'second start') await this.#writeAndKill(this.#start(false))
    const isRefused = plan.phase === 'writing' ? await this.#failWhileWriting() : await this.#failStart()
    await checkDirectory(this.#data, load.traces)
    const hits = await readFile(this.#hitsPath, 'utf8').catch(() => '')
    return { acknowledged: load.acknowledged, hits: hits.split('\n').length - 1, isRefused }
  }

  #start(hasFault: boolean): FaultServer {
    const { interposer, plan } = this.#options
    const [root, switchPath, hitsPath] = [this.#data, this.#switchPath, this.#hitsPath]
    const env = hasFault ? interposer.environment({ root, fault: plan.fault, switchPath, hitsPath }) : {}
    return new FaultServer(root, env)
  }

  /** A start whose calls fail becomes ready, or ends and says why. Returns whether it ended. */
  async #failStart(): Promise<boolean> {
    await writeFile(this.#switchPath, '')
    const server = this.#start(true)
    if (await this.#writeIfReady(server)) return false
    this.#assertWords(server)
    if (server.child.exitCode === null) throw new Error(`The server crashed: ${server.output}`)
    return true
  }

  async #writeAndKill(server: FaultServer): Promise<void> {
    if (!(await this.#writeIfReady(server))) throw new Error(`The server did not start: ${server.output}`)
  }

  /** Writes if the server becomes ready, and kills it in any case. Returns false if it ended before it was ready. */
  async #writeIfReady(server: FaultServer): Promise<boolean> {
    try {
      const url = await server.urlIfReady()
      if (url === undefined) return false
      await this.#write(server, new HttpWriter(url), WRITES_BEFORE)
    } finally {
      server.kill()
      await server.ended()
    }
    assertEnd(server)
    return true
  }

  async #failWhileWriting(): Promise<boolean> {
    const { plan } = this.#options
    const server = this.#start(true)
    let outcomes: HttpWriter['outcomes'] = new Map()
    try {
      const url = await server.urlIfReady()
      if (url === undefined) throw new Error(`The server did not start: ${server.output}`)
      const writer = new HttpWriter(url)
      outcomes = writer.outcomes
      await this.#write(server, writer, WRITES_BEFORE)
      await writeFile(this.#switchPath, '')
      await this.#write(server, writer, WRITES_DURING)
      assertOutcomes(server, outcomes)
      if (plan.recovers) await this.#expectRecovery(server, writer)
    } finally {
      server.kill()
      await server.ended()
    }
    assertEnd(server)
    if ([...outcomes.keys()].some((outcome) => outcome.startsWith('503'))) this.#assertWords(server)
    return false
  }

  /** Writes until so many more writes have had an outcome. */
  async #write(server: FaultServer, writer: HttpWriter, count: number, workers = WORKERS): Promise<void> {
    const { load, seed } = this.#options
    const before = load.acknowledged + load.rejected
    if (before === 0) await writer.createCompany().catch(() => undefined)
    await load.run({
      seed,
      workers,
      write: writer.write,
      isDone: () => server.hasEnded || load.acknowledged + load.rejected - before >= count,
    })
  }

  /** Requires a server that has ended: a line of its output can be read later than the response that it is about. */
  #assertWords(server: FaultServer): void {
    if (WORDS[this.#options.plan.error].test(server.output)) return
    throw new Error(`The output does not name the cause: ${server.output.slice(-4_000)}`)
  }

  /** Once the calls work again, the server writes again. If its store had failed, once it was started again. */
  async #expectRecovery(server: FaultServer, writer: HttpWriter): Promise<void> {
    const { load } = this.#options
    await rm(this.#switchPath)
    const before = load.acknowledged
    await eventually(
      async () => {
        await delay(RETRY_MS)
        await this.#write(server, writer, 1, 1)
        return server.hasEnded || load.acknowledged > before
      },
      () => `the server does not write again: ${server.output.slice(-4_000)}`,
    )
    if (!server.hasEnded) return
    await server.ended()
    assertEnd(server)
    await this.#writeAndKill(this.#start(false))
    if (load.acknowledged === before) throw new Error('The server does not write after it was started again')
  }
}

/** A server ends by a kill. After its store has failed, it asks to be started again as soon as a write would work. */
function assertEnd(server: FaultServer): void {
  if (server.child.exitCode !== EXIT_START_AGAIN) server.assertKilled()
}

/** Every response must be a success, or say that the service cannot do it now. */
function assertOutcomes(server: FaultServer, outcomes: HttpWriter['outcomes']): void {
  const wrong = [...outcomes.keys()].filter((outcome) => !isExpected(outcome))
  if (wrong.length > 0) throw new Error(`Unexpected responses ${wrong.join(', ')}: ${server.output.slice(-4_000)}`)
}

/** After a write with an unknown outcome, the load does not touch that evidence again. */
const isExpected = (outcome: string): boolean =>
  outcome.startsWith('2') || outcome === '503 UNAVAILABLE' || outcome === '503 UNKNOWN_OUTCOME'

/** Whether a disk that drops writes of the database and reports success is noticed. */
function isControlNoticed(interposer: Interposer, seed: number): Promise<boolean> {
  const fault = { call: 'write', errno: 0, nth: 20, count: 1_000_000, pattern: '/records/db/' } as const
  return runCase(interposer, seed, { phase: 'writing', error: 'EIO', fault, recovers: false }).then(
    () => false,
    () => true,
  )
}
