import { randomFrom } from '../../support/bundle-mutations.ts'
import type { AuthorityKeys } from './authority.ts'
import { checkPromises } from './checks.ts'
import { seedRandomness } from './determinism.ts'
import type { Fault, OutsideCall } from './outside-calls.ts'
import { World } from './world.ts'
import type { Step } from './steps.ts'
import { Workload } from './workload.ts'

/** What one case does. */
export interface Scenario {
  /** Of everything random in the registry and in the steps. */
  readonly seed: number
  readonly steps: readonly Step[]
  readonly faults: readonly Fault[]
  readonly authorities: readonly AuthorityKeys[]
  /** Something that a control breaks in addition, before the checks. */
  readonly sabotage?: (world: World) => Promise<void>
}

/** What happened in a case. */
export interface Outcome {
  /** Why a promise is broken. */
  readonly failure?: unknown
  /** Hash of every outside call, every result and the simulated time of each. */
  readonly trace: string
  /** Until the checks began. */
  readonly calls: readonly OutsideCall[]
  readonly faults: readonly Fault[]
  readonly acknowledgements: number
}

/** Runs a scenario in a world of its own. */
export async function runCase({ seed, steps, faults, authorities, sabotage }: Scenario): Promise<Outcome> {
  seedRandomness(seed)
  const world = new World(faults, authorities)
  const workload = new Workload(world, randomFrom(seed))
  let calls: readonly OutsideCall[] = []
  let failure: unknown
  try {
    await workload.begin()
    for (const step of steps) await workload.run(step)
    calls = [...world.outside.calls]
    await sabotage?.(world)
    await checkPromises(world, workload)
  } catch (error) {
    failure = error
    await world.close().catch(() => undefined)
  }
  return {
    failure,
    trace: world.outside.traceHash(),
    calls,
    faults: world.outside.faults,
    acknowledgements: workload.client.acknowledgements,
  }
}
