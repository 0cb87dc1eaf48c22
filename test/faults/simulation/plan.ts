import { pick, randomFrom, type Random } from '../../support/bundle-mutations.ts'
import { CHANGE_EFFECTS, READ_EFFECTS, type Effect, type Fault, type OutsideCall } from './outside-calls.ts'
import { EVERY_STEP, randomSteps, SEALING_STEPS, type Step } from './steps.ts'

/**
 * Which case a seed stands for. Below `FIRST_SINGLE`: a random scenario. From there on: one fault at one call of the
 * scenario that has every step. From `FIRST_PAIR` on: two faults in the scenario of sealing.
 */
const FIRST_SINGLE = 1_000_000_000
const FIRST_PAIR = 2_000_000_000

/** More than the number of effects, and a power of two, so that seeds are easy to read in hexadecimal. */
const EFFECT_SLOTS = 8
const CALL_SLOTS = 4096
/** The second fault of a pair also hits the first calls of the recovery. */
const RECOVERY_CALLS = 12

const MIN_STEPS = 6
const MAX_STEPS = 20
const CALLS_PER_STEP = 18
/** A random scenario makes about this many calls before its first step: it starts, and creates the company. */
const FIRST_CALLS = 20

/** The outside calls of both fixed scenarios without faults. */
export interface Baselines {
  readonly every: readonly OutsideCall[]
  readonly sealing: readonly OutsideCall[]
}

export interface Plan {
  readonly steps: readonly Step[]
  readonly faults: readonly Fault[]
  /** How many authorities make a stamp. */
  readonly authorities: 1 | 2
}

export const FIXED_SCENARIOS = {
  every: { steps: EVERY_STEP, faults: [], authorities: 1 },
  sealing: { steps: SEALING_STEPS, faults: [], authorities: 1 },
} as const satisfies Record<keyof Baselines, Plan>

export function planOf(seed: number): Plan {
  if (seed >= FIRST_PAIR) {
    const code = seed - FIRST_PAIR
    const second = faultOf(code % (EFFECT_SLOTS * CALL_SLOTS))
    const first = faultOf(Math.floor(code / (EFFECT_SLOTS * CALL_SLOTS)))
    return { ...FIXED_SCENARIOS.sealing, faults: [first, second] }
  }
  if (seed >= FIRST_SINGLE) return { ...FIXED_SCENARIOS.every, faults: [faultOf(seed - FIRST_SINGLE)] }
  return randomPlan(randomFrom(seed ^ 0x5eed))
}

function randomPlan(random: Random): Plan {
  const count = MIN_STEPS + Math.floor(random() * (MAX_STEPS - MIN_STEPS))
  const calls = FIRST_CALLS + count * CALLS_PER_STEP
  const faults = Array.from({ length: 1 + Math.floor(random() * 4) }, () => ({
    call: 1 + Math.floor(random() * calls),
    effect: pick(random, CHANGE_EFFECTS),
  }))
  return { steps: randomSteps(random, count), faults, authorities: random() < 0.25 ? 2 : 1 }
}

/** Every effect at every outside call of the scenario that has every step. */
export const singleSeeds = ({ every }: Baselines): readonly number[] =>
  every.flatMap(({ isChange }, i) => codesOf(i + 1, isChange)).map((code) => FIRST_SINGLE + code)

/** Every pair of effects at two calls of the scenario of sealing. */
export function pairSeeds({ sealing }: Baselines): readonly number[] {
  const changes = sealing.flatMap(({ isChange }, i) => (isChange ? [i + 1] : []))
  return changes.flatMap((call) => {
    const recovery = Array.from({ length: RECOVERY_CALLS }, (_, i) => call + 1 + i)
    const later = [...new Set([...recovery, ...changes.filter((other) => other > call)])]
    const seconds = later.flatMap((other) => codesOf(other, true))
    return codesOf(call, true).flatMap((first) =>
      seconds.map((second) => FIRST_PAIR + first * EFFECT_SLOTS * CALL_SLOTS + second),
    )
  })
}

const codesOf = (call: number, isChange: boolean): readonly number[] =>
  (isChange ? CHANGE_EFFECTS : READ_EFFECTS).map(
    (effect) => call * EFFECT_SLOTS + (CHANGE_EFFECTS as readonly Effect[]).indexOf(effect),
  )

function faultOf(code: number): Fault {
  return { call: Math.floor(code / EFFECT_SLOTS), effect: CHANGE_EFFECTS[code % EFFECT_SLOTS] ?? 'fails' }
}
