import { moduleUrl } from '../../support/repository.ts'
import { withTemporary } from '../../support/temporary.ts'
import { randomFrom, type Random } from '../../support/bundle-mutations.ts'
import { controlFailures, named, type FaultPart, type FaultResult, type FaultRun } from '../part.ts'
import { runCases } from '../run-cases.ts'
import { checkDirectory } from '../workload/check.ts'
import { HttpWriter } from '../workload/http-writer.ts'
import { Load } from '../workload/load.ts'
import { FaultServer } from '../workload/server.ts'
import { DROP_EVIDENCES, KILL_POINTS, type KillPoint, type StopAt } from './points.ts'

const WORKERS = 12
/** At most so many writes are acknowledged before a kill at a random moment. */
const MAX_ACKNOWLEDGED = 150
/** Only ends a run that hangs: every named point is reached long before. */
const HANG_MS = 600_000
/** A start that is killed at a random moment is killed within this time. */
const MAX_START_MS = 1_000

export const part: FaultPart = {
  name: 'kill',
  passesWhen: 'After SIGKILL every acknowledged write is there and proven, and no evidence is half-written',
  count: { short: 12, long: Math.ceil(1.5 * KILL_POINTS.length) },
  run,
}

async function run(options: FaultRun): Promise<FaultResult> {
  const { results, failures } = await runCases(options, (seed) => runCase(seed, planOf(seed)))
  const isNoticed = await isControlNoticed(options.seed)
  const acknowledged = results.reduce((sum, result) => sum + result.acknowledged, 0)
  const reached = new Set(results.flatMap(({ point }) => (point === undefined ? [] : [point.name])))
  return {
    cases: results.length + failures.length,
    failures: [...failures, ...controlFailures(options.seed, isNoticed, 'a server that drops commits')],
    figures:
      `${acknowledged.toLocaleString('en')} writes acknowledged, ${results.length} kills without a loss, ` +
      `${reached.size} of ${KILL_POINTS.length} named points; the control was noticed: ${isNoticed ? 'yes' : 'no'}`,
  }
}

/** When the server is killed. */
interface KillPlan {
  readonly phase: KillPoint['phase']
  readonly point?: KillPoint
  /** `DROP_EVIDENCES`: the control, which is killed at a random moment. */
  readonly stopAt?: StopAt | typeof DROP_EVIDENCES | undefined
  /** Writes to acknowledge before the kill. */
  readonly acknowledged: number
  /** Time from the start of the process to the kill, if a start is killed at a random moment. */
  readonly startMs: number
}

/** Every third case kills the server at a random moment, the others at the named points in turn. */
function planOf(seed: number): KillPlan {
  const random = randomFrom(seed)
  const moment = { acknowledged: 1 + Math.floor(random() * MAX_ACKNOWLEDGED), startMs: random() * MAX_START_MS }
  if (seed % 3 === 0) return { phase: randomPhase(random), ...moment }
  const turn = seed - 1 - Math.floor(seed / 3)
  const point = KILL_POINTS[turn % KILL_POINTS.length] as KillPoint
  // Every second pass through the list stops at the other side of the call.
  const when = (turn + Math.floor(turn / KILL_POINTS.length)) % 2 === 0 ? 'before' : 'after'
  const nth = 1 + Math.floor(random() * point.maxNth)
  return {
    phase: point.phase,
    point,
    stopAt: { call: point.call, pattern: point.pattern.source, nth, when },
    ...moment,
  }
}

const randomPhase = (random: Random): KillPlan['phase'] => {
  const value = random()
  return value < 0.7 ? 'load' : value < 0.85 ? 'first start' : 'second start'
}

interface CaseResult {
  readonly acknowledged: number
  readonly point: KillPoint | undefined
}

const runCase = (seed: number, plan: KillPlan): Promise<CaseResult> =>
  named(describe(plan), () =>
    withTemporary(async (directory) => {
      const load = new Load()
      if (plan.phase === 'second start')
        await loadAndKill(directory, load, { ...plan, seed, phase: 'load', stopAt: undefined })
      await (plan.phase === 'load' ? loadAndKill(directory, load, { ...plan, seed }) : startAndKill(directory, plan))
      await checkDirectory(directory, load.traces)
      return { acknowledged: load.acknowledged, point: plan.point }
    }),
  )

function describe({ phase, point, stopAt }: KillPlan): string {
  if (point === undefined || typeof stopAt !== 'object') return `a random moment of the ${phase}`
  return `${stopAt.when} call ${stopAt.nth} of ${point.name}`
}

const PRELOAD = moduleUrl('test/faults/kill/stop-at.ts').href

function startServer(directory: string, stopAt: KillPlan['stopAt']): FaultServer {
  if (stopAt === undefined) return new FaultServer(directory)
  const setting = typeof stopAt === 'string' ? stopAt : JSON.stringify(stopAt)
  return new FaultServer(directory, { STOP_AT: setting }, ['--import', PRELOAD])
}

/** Starts a server and kills it before it is ready: at a named point, or after a random time. */
async function startAndKill(directory: string, { stopAt, startMs }: KillPlan): Promise<void> {
  const server = startServer(directory, stopAt)
  const startedAt = performance.now()
  const timer = setTimeout(() => server.kill(), stopAt === undefined ? startMs : HANG_MS)
  await server.ended()
  clearTimeout(timer)
  if (stopAt !== undefined && performance.now() - startedAt > HANG_MS) throw neverReached(server)
  server.assertKilled()
}

/** Starts a server, writes, and kills it: at a named point, or after so many acknowledgements. */
async function loadAndKill(directory: string, load: Load, plan: KillPlan & { readonly seed: number }): Promise<void> {
  const server = startServer(directory, plan.stopAt)
  try {
    const url = await server.urlIfReady()
    if (url !== undefined) await writeUntilKilled(server, new HttpWriter(url), load, plan)
  } finally {
    server.kill()
    await server.ended()
  }
  server.assertKilled()
}

const neverReached = ({ output }: FaultServer): Error => new Error(`The named point was never reached: ${output}`)

async function writeUntilKilled(
  server: FaultServer,
  writer: HttpWriter,
  load: Load,
  { stopAt, acknowledged, seed }: KillPlan & { readonly seed: number },
): Promise<void> {
  const deadline = performance.now() + HANG_MS
  // It may be killed before this is answered.
  await writer.createCompany().catch(() => undefined)
  await load.run({
    seed,
    workers: WORKERS,
    write: writer.write,
    fullSpeed: MAX_ACKNOWLEDGED,
    isDone() {
      if (server.hasEnded || performance.now() > deadline) return true
      if (typeof stopAt === 'object' || load.acknowledged < acknowledged) return false
      // The writes of the other workers are in progress.
      return server.kill()
    },
  })
  if (performance.now() > deadline) throw neverReached(server)
}

/** Whether a server that acknowledges evidences without storing them is noticed. */
const isControlNoticed = (seed: number): Promise<boolean> =>
  withTemporary(async (directory) => {
    const load = new Load()
    await loadAndKill(directory, load, { phase: 'load', acknowledged: 20, startMs: 0, seed, stopAt: DROP_EVIDENCES })
    return checkDirectory(directory, load.traces).then(
      () => false,
      () => true,
    )
  })
