import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { describe, it, mock } from 'node:test'
import fc from 'fast-check'
import { TurnQueue, type TurnLimits } from '../../../server/http/turn-queue.ts'

interface Request {
  readonly sender: string | undefined
  readonly endOfWait: number
  state: 'waiting' | 'running' | 'ended' | 'late'
}

/** What `TurnQueue` promises, by a search through all requests. */
class SlowReference {
  readonly requests: Request[] = []
  readonly #limits: TurnLimits
  #now = 0

  constructor(limits: TurnLimits) {
    this.#limits = limits
  }

  numbersOf(state: Request['state']): readonly number[] {
    return this.requests.flatMap((request, number) => (request.state === state ? [number] : []))
  }

  arrive(maxWaitMs: number, sender: string | undefined): void {
    this.requests.push({ sender, endOfWait: this.#now + maxWaitMs, state: 'waiting' })
    this.#startNext()
  }

  /** Ends a running request. Returns its number and its sender, `undefined` if none runs. */
  end(choice: number): { readonly number: number; readonly sender: string | undefined } | undefined {
    const running = this.numbersOf('running')
    const number = running[choice % running.length]
    const request = number === undefined ? undefined : this.requests[number]
    if (number === undefined || request === undefined) return undefined
    request.state = 'ended'
    this.#startNext()
    return { number, sender: request.sender }
  }

  pass(ms: number): void {
    this.#now += ms
    for (const request of this.requests)
      if (request.state === 'waiting' && this.#now >= request.endOfWait) request.state = 'late'
  }

  #startNext(): void {
    const running = this.requests.filter(({ state }) => state === 'running')
    if (running.length >= this.#limits.running) return
    const hasPlace = (sender: string | undefined): boolean =>
      sender === undefined || running.filter((request) => request.sender === sender).length < this.#limits.perSender
    const next = this.requests.find(({ state, sender }) => state === 'waiting' && hasPlace(sender))
    if (next !== undefined) next.state = 'running'
  }
}

type Step =
  | { readonly kind: 'arrive'; readonly maxWaitMs: number; readonly sender: string | undefined }
  | { readonly kind: 'end'; readonly choice: number }
  | { readonly kind: 'pass'; readonly ms: number }

const time = fc.integer({ min: 1, max: 12 })
const sender = fc.constantFrom('a', 'b', undefined)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('arrive' as const), maxWaitMs: time, sender }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('end' as const), choice: fc.nat(100) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: time }) },
)

describe('TurnQueue', () => {
  it('starts, keeps and drops the same requests as a slow reference', async () => {
    const property = fc.asyncProperty(
      fc.record({ running: fc.integer({ min: 1, max: 4 }), perSender: fc.integer({ min: 1, max: 3 }) }),
      fc.array(step, { maxLength: 60, size: 'max' }),
      checkSteps,
    )
    await fc.assert(property, { numRuns: 200 })
  })

  it('keeps nothing of requests that have waited too long while no turn ends', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const queue = new TurnQueue({ running: 1, perSender: 1 })
    assert.equal(await queue.begin(10), true)
    for (let i = 0; i < 5; i++) {
      const turns = Array.from({ length: 100 }, () => queue.begin(10))
      assert.equal(queue.waiting, 100)
      t.mock.timers.tick(10)
      assert.equal(queue.waiting, 0)
      assert.ok((await Promise.all(turns)).every((hasTurn) => !hasTurn))
    }
    queue.end()
    assert.equal(queue.running, 0)
  })
})

/** Every step of a queue with its own clock, compared with the reference. */
async function checkSteps(limits: TurnLimits, steps: readonly Step[]): Promise<void> {
  mock.timers.enable({ apis: ['setTimeout'] })
  try {
    const reference = new SlowReference(limits)
    const queue = new TurnQueue(limits)
    const [started, late]: [Set<number>, Set<number>] = [new Set(), new Set()]
    for (const action of steps) {
      if (action.kind === 'arrive') {
        const number = reference.requests.length
        void queue.begin(action.maxWaitMs, action.sender).then((hasTurn) => (hasTurn ? started : late).add(number))
        reference.arrive(action.maxWaitMs, action.sender)
      } else if (action.kind === 'pass') {
        mock.timers.tick(action.ms)
        reference.pass(action.ms)
      } else {
        const ended = reference.end(action.choice)
        if (ended === undefined) continue
        queue.end(ended.sender)
        started.delete(ended.number)
      }
      // Lets the promises of `begin` settle.
      await setImmediate()
      assert.deepEqual([...started].toSorted(byNumber), reference.numbersOf('running'))
      assert.deepEqual([...late].toSorted(byNumber), reference.numbersOf('late'))
      assert.deepEqual([queue.running, queue.waiting], [started.size, reference.numbersOf('waiting').length])
    }
  } finally {
    mock.timers.reset()
  }
}

const byNumber = (a: number, b: number): number => a - b
