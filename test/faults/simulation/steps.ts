import type { Random } from '../../support/bundle-mutations.ts'

/** What a case can do, and how often a random scenario does it. */
const WEIGHTS = {
  create: 5,
  'create in a new category': 2,
  'create many': 2,
  'create together': 2,
  describe: 4,
  transfer: 2,
  'attach files': 4,
  'delete a file': 3,
  'change everything': 2,
  'add a category': 2,
  'change a category': 1,
  'delete an image': 0.5,
  'remove a category': 1,
  'add a source system': 1,
  seal: 6,
  wait: 3,
  'wait for a day': 0.15,
  mine: 5,
  'reorganize the chain': 1,
  'forget transactions': 1,
  'hold transactions back': 0.5,
  restart: 2,
  kill: 2,
  'rotate the key': 0.5,
} as const
export type Step = keyof typeof WEIGHTS

/** Each kind of step at least once, in an order in which each has something to do. */
export const EVERY_STEP: readonly Step[] = [
  'add a source system',
  'add a category',
  'create',
  'create in a new category',
  'attach files',
  'seal',
  'mine',
  'create many',
  'create together',
  'describe',
  'transfer',
  'change a category',
  'restart',
  'delete an image',
  'rotate the key',
  'delete a file',
  'remove a category',
  'seal',
  'reorganize the chain',
  'change everything',
  'kill',
  'wait',
  'mine',
]

/** Batches, stamps, anchors and a new key, with as little else as possible. */
export const SEALING_STEPS: readonly Step[] = ['create', 'seal', 'mine', 'rotate the key', 'create', 'seal', 'mine']

const ALL_STEPS = Object.entries(WEIGHTS) as readonly (readonly [Step, number])[]
const TOTAL_WEIGHT = ALL_STEPS.reduce((sum, [, weight]) => sum + weight, 0)

export function randomSteps(random: Random, count: number): readonly Step[] {
  return Array.from({ length: count }, () => {
    let left = random() * TOTAL_WEIGHT
    return (ALL_STEPS.find(([, weight]) => (left -= weight) < 0) ?? ['create'])[0]
  })
}
