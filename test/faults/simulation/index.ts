import { compileKernel } from '../../../sealer/kernel/kernel.ts'
import { textOf, type FaultFailure, type FaultPart, type FaultResult, type FaultRun } from '../part.ts'
import { authorityKeys, type AuthorityKeys } from './authority.ts'
import { runCase, type Outcome, type Scenario } from './case.ts'
import { unnoticedControls } from './controls.ts'
import { makeDeterministic, seedRandomness } from './determinism.ts'
import { FIXED_SCENARIOS, pairSeeds, planOf, singleSeeds, type Baselines, type Plan } from './plan.ts'

const SHORT = 100
const LONG = 2_000
/** How many pairs of faults. */
const PAIRS = { short: 15, long: 150 }
/** Every so many seeds, a case runs twice, and its traces are compared. */
const REPEAT_EVERY = 10
const MAX_FAILURES = 30

/**
 * Runs the registry and its sealer in a simulated world: clock, stores, chain and authorities are fakes in memory that
 * can fail at every call. Everything random comes from the seed, so a seed repeats its whole trace.
 */
export const part: FaultPart = {
  name: 'simulation',
  passesWhen: 'no promise is broken, and a seed repeats its trace',
  count: { short: SHORT, long: LONG },
  run: async (options) => (await Simulation.begin()).run(options),
}

class Simulation {
  readonly #authorities: readonly AuthorityKeys[]
  readonly #failures: FaultFailure[] = []
  readonly #totals = { cases: 0, repeated: 0, acknowledgements: 0, faults: 0 }

  private constructor(authorities: readonly AuthorityKeys[]) {
    this.#authorities = authorities
  }

  /** From now on nothing in this process is random. */
  static async begin(): Promise<Simulation> {
    makeDeterministic()
    seedRandomness(0)
    // Both take real time, which the simulated clock does not wait for.
    await compileKernel()
    await import('../../../core/verify/tokens/timestamp.ts')
    return new Simulation([authorityKeys('first', 1), authorityKeys('second', 2)])
  }

  async run({ count, seed, long, progress }: FaultRun): Promise<FaultResult> {
    const runAll = async (seeds: readonly number[]): Promise<number> => {
      const before = this.#totals.cases
      for (const each of seeds) {
        if (this.#failures.length >= MAX_FAILURES) break
        await this.#runSeed(each)
        progress(++this.#totals.cases)
      }
      return this.#totals.cases - before
    }
    // A failure is repeated alone, without the fixed scenarios.
    const fixed = count >= SHORT ? await this.#fixedSeeds(PAIRS[long ? 'long' : 'short']) : { single: [], pairs: [] }
    const single = await runAll(fixed.single)
    const pairs = await runAll(fixed.pairs)
    const random = await runAll(Array.from({ length: count }, (_, i) => seed + i))
    const { cases, faults, acknowledgements, repeated } = this.#totals
    const [events, writes] = [faults.toLocaleString('en'), acknowledgements.toLocaleString('en')]
    return {
      cases,
      failures: this.#failures,
      figures:
        `${random} random scenarios, ${single} with one fault, ${pairs} with two; ` +
        `${events} faults, ${writes} acknowledged writes, ${repeated} traces repeated`,
    }
  }

  #runPlan({ authorities, ...plan }: Plan, seed: number, more: Partial<Scenario> = {}): Promise<Outcome> {
    return runCase({ ...plan, seed, authorities: this.#authorities.slice(0, authorities), ...more })
  }

  /** Runs a case, and some of them twice. */
  async #runSeed(seed: number): Promise<void> {
    const plan = planOf(seed)
    const { failure, trace, acknowledgements, faults } = await this.#runPlan(plan, seed)
    this.#totals.acknowledgements += acknowledgements
    this.#totals.faults += faults.length
    if (failure !== undefined) this.#fail(seed, `${JSON.stringify(plan.faults)}\n${textOf(failure)}`)
    if (seed % REPEAT_EVERY > 0) return
    this.#totals.repeated++
    const again = await this.#runPlan(plan, seed)
    if (again.trace !== trace) this.#fail(seed, 'The second run of this seed made another trace')
  }

  #fail(seed: number, message: string): void {
    this.#failures.push({ seed, message })
  }

  /** One fault at every call of the scenario with every step, and pairs of faults, spread evenly. Runs the controls. */
  async #fixedSeeds(count: number): Promise<{ readonly single: readonly number[]; readonly pairs: readonly number[] }> {
    const baselines = await this.#baselines()
    const run = (scenario: Partial<Scenario>) => this.#runPlan(FIXED_SCENARIOS.every, 0, scenario)
    for (const name of await unnoticedControls(baselines, run)) this.#fail(0, `The checks did not notice ${name}`)
    const pairs = pairSeeds(baselines)
    const stride = Math.max(1, Math.floor(pairs.length / count))
    return { single: singleSeeds(baselines), pairs: pairs.filter((_, i) => i % stride === 0) }
  }

  async #baselines(): Promise<Baselines> {
    const every = await this.#runPlan(FIXED_SCENARIOS.every, 0)
    const sealing = await this.#runPlan(FIXED_SCENARIOS.sealing, 0)
    const failure = every.failure ?? sealing.failure
    if (failure !== undefined) throw new Error('A promise is broken without any fault', { cause: failure })
    return { every: every.calls, sealing: sealing.calls }
  }
}
