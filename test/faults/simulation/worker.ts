import { parentPort, workerData } from 'node:worker_threads'
import { compileKernel } from '../../../sealer/kernel/kernel.ts'
import type { FaultFailure } from '../part.ts'
import { authorityKeys } from './authority.ts'
import { runCase, type Outcome, type Scenario } from './case.ts'
import { unnoticedControls } from './controls.ts'
import { makeDeterministic, seedRandomness } from './determinism.ts'
import { FIXED_SCENARIOS, pairSeeds, planOf, singleSeeds, type Baselines, type Plan } from './plan.ts'

/** What a worker must run. */
export interface Shard {
  /** It runs case i if `i % workers` is `worker`. */
  readonly worker: number
  readonly workers: number
  readonly seed: number
  /** Random scenarios. */
  readonly count: number
  /** Whether it also runs the fixed scenarios, and how many pairs of faults. */
  readonly fixed: { readonly pairs: number } | undefined
}

/** What a worker reports, after some cases and at its end. */
export interface ShardReport {
  readonly isEnd: boolean
  readonly random: number
  readonly single: number
  readonly pairs: number
  readonly repeated: number
  readonly acknowledgements: number
  readonly faults: number
  readonly failures: readonly FaultFailure[]
}

/** Every so many seeds, a case runs twice, and its traces are compared. */
const REPEAT_EVERY = 10
const REPORT_EVERY = 20
const MAX_FAILURES = 30
const START = Date.UTC(2026, 0, 1)

makeDeterministic()
seedRandomness(0)
// Both take real time, which the simulated clock does not wait for.
await compileKernel()
await import('../../../core/verify/timestamp.ts')
const AUTHORITIES = [authorityKeys('first', 1, START), authorityKeys('second', 2, START)]

const totals = { random: 0, single: 0, pairs: 0, repeated: 0, acknowledgements: 0, faults: 0 }
const failures: FaultFailure[] = []
let unreported = 0

const report = (isEnd: boolean): void => {
  unreported = 0
  parentPort?.postMessage({ ...totals, failures, isEnd } satisfies ShardReport, [])
}

const run = ({ authorities, ...plan }: Plan, seed: number, more: Partial<Scenario> = {}): Promise<Outcome> =>
  runCase({ ...plan, seed, authorities: AUTHORITIES.slice(0, authorities), ...more })

/** Runs a case, and some of them twice. */
async function runSeed(seed: number): Promise<void> {
  const plan = planOf(seed)
  const { failure, trace, acknowledgements, faults } = await run(plan, seed)
  totals.acknowledgements += acknowledgements
  totals.faults += faults.length
  if (failure !== undefined) failures.push({ seed, message: `${JSON.stringify(plan.faults)}\n${failure}` })
  if (seed % REPEAT_EVERY === 0) {
    totals.repeated++
    const again = await run(plan, seed)
    if (again.trace !== trace) failures.push({ seed, message: 'The second run of this seed made another trace' })
  }
  if (++unreported === REPORT_EVERY) report(false)
}

async function baselinesOf(): Promise<Baselines> {
  const { every, sealing } = FIXED_SCENARIOS
  const outcomes = [await run(every, 0), await run(sealing, 0)] as const
  for (const { failure } of outcomes)
    if (failure !== undefined) throw new Error(`A promise is broken without any fault: ${failure}`)
  return { every: outcomes[0].calls, sealing: outcomes[1].calls }
}

async function runControls(baselines: Baselines): Promise<void> {
  const unnoticed = await unnoticedControls(baselines, (scenario) => run(FIXED_SCENARIOS.every, 0, scenario))
  for (const name of unnoticed) failures.push({ seed: 0, message: `The checks did not notice ${name}` })
}

const { worker, workers, seed, count, fixed } = workerData as Shard
const isMine = (_: unknown, i: number): boolean => i % workers === worker
if (fixed !== undefined) {
  const baselines = await baselinesOf()
  if (worker === 0) await runControls(baselines)
  for (const each of singleSeeds(baselines).filter(isMine)) {
    if (failures.length >= MAX_FAILURES) break
    await runSeed(each)
    totals.single++
  }
  const pairs = pairSeeds(baselines)
  const stride = Math.max(1, Math.floor(pairs.length / fixed.pairs))
  for (const each of pairs.filter((_, i) => i % stride === 0).filter(isMine)) {
    if (failures.length >= MAX_FAILURES) break
    await runSeed(each)
    totals.pairs++
  }
}
for (let i = worker; i < count && failures.length < MAX_FAILURES; i += workers) {
  await runSeed(seed + i)
  totals.random++
}
report(true)
