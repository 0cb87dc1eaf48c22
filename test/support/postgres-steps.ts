import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { countOf } from '../../core/store/counter.ts'
import type { Commit, RecordStore } from '../../core/ports/index.ts'
import { appendsOf } from '../contract/record-store-pair.ts'

/** A commit that can be applied once. */
export type Step = Commit & { readonly entry: Uint8Array }

/** Returns a commit with a write, a counter, a log entry, and a check that succeeds once. */
export function stepOf(id: string): Step {
  const entry = new Uint8Array(randomBytes(32))
  return {
    entry,
    checks: [{ key: `step/${id}`, version: null }],
    writes: [{ key: `step/${id}`, value: new TextEncoder().encode(id) }],
    adds: [{ key: 'steps', delta: 1 }],
    append: appendsOf(entry),
  }
}

/** Asserts that the store holds exactly these steps, each once. */
export async function assertSteps(store: RecordStore, steps: readonly Step[]): Promise<void> {
  const [counter] = await store.get(['steps'])
  assert.equal(countOf(counter), steps.length)
  assert.equal(await store.logSize(), steps.length)
  const positions = await store.positionsOf(steps.map(({ entry }) => entry))
  assert.deepEqual(
    [...positions].sort((a, b) => Number(a) - Number(b)),
    steps.map((_, i) => i),
  )
  let listed = 0
  for await (const _ of store.list({ gte: 'step/', lt: 'step0' })) listed += 1
  assert.equal(listed, steps.length)
}

/** Commits in progress; see `startLoad`. */
export interface Load {
  /** The steps that were acknowledged so far. */
  readonly done: readonly Step[]
  /** Waits for the commits in progress. Returns the acknowledged steps, which are all that were begun. */
  stop(): Promise<readonly Step[]>
}

/** Starts callers that commit steps one after the other until `stop` is called. */
export function startLoad(store: RecordStore, callers: number, name = 'load'): Load {
  const done: Step[] = []
  let isStopped = false
  let n = 0
  const caller = async (): Promise<void> => {
    while (!isStopped) {
      const step = stepOf(`${name} ${(n += 1)}`)
      assert.ok((await store.commit(step)).ok)
      done.push(step)
    }
  }
  const all = Promise.all(Array.from({ length: callers }, caller))
  return {
    done,
    async stop() {
      isStopped = true
      await all
      return done
    },
  }
}
