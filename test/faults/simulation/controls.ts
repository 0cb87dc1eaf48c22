import type { Scenario, Outcome } from './case.ts'
import type { Effect, OutsideCall } from './outside-calls.ts'
import { FIXED_SCENARIOS, type Baselines } from './plan.ts'

type Run = (scenario: Omit<Scenario, 'authorities' | 'seed'>) => Promise<Outcome>

/** A broken promise that the checks must notice. */
interface Control {
  readonly name: string
  readonly effect: Exclude<Effect, 'fails'>
  readonly isTarget: (call: OutsideCall) => boolean
}

const isEvent = ({ families }: OutsideCall): boolean => families.includes('ev')

const CONTROLS: readonly Control[] = [
  { name: 'a store that acknowledges an event and loses it', effect: 'lies', isTarget: isEvent },
  { name: 'a store that applies half of a commit', effect: 'halves', isTarget: isEvent },
  {
    name: 'a blob store that acknowledges bytes and loses them',
    effect: 'lies',
    isTarget: ({ name }) => name === 'put',
  },
]

/** Breaks promises on purpose. Returns those that the checks did not notice. */
export async function unnoticedControls({ every }: Baselines, run: Run): Promise<readonly string[]> {
  const { steps } = FIXED_SCENARIOS.every
  const unnoticed: string[] = []
  for (const { name, effect, isTarget } of CONTROLS) {
    const call = every.findLastIndex(isTarget) + 1
    const { failure } = await run({ steps, faults: [{ call, effect }] })
    if (call === 0 || failure === undefined) unnoticed.push(name)
  }
  const { failure } = await run({
    steps,
    faults: [],
    sabotage: async ({ published }) => void published.push({ size: 3, root: new Uint8Array(32).fill(1) }),
  })
  if (failure === undefined) unnoticed.push('a signed tree that is not the beginning of the log')
  return unnoticed
}
