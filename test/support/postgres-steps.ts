import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { countOf } from '../../core/store/counter.ts'
import type { Commit, RecordStore } from '../../core/ports.ts'

export type Step = Commit & { readonly append: Uint8Array }

/** A write, a counter, a log entry, and a check that holds once. */
export const stepOf = (id: string): Step => ({
  checks: [{ key: `step/${id}`, version: null }],
  writes: [{ key: `step/${id}`, value: new TextEncoder().encode(id) }],
  adds: [{ key: 'steps', delta: 1 }],
  append: new Uint8Array(randomBytes(32)),
})

/** The store holds these steps, each once, and nothing else. */
export async function assertSteps(store: RecordStore, done: readonly Step[]): Promise<void> {
  const [counter] = await store.get(['steps'])
  assert.equal(countOf(counter), done.length)
  assert.equal(await store.logSize(), done.length)
  const positions = await store.positionsOf(done.map(({ append }) => append))
  assert.deepEqual(
    [...positions].sort((a, b) => Number(a) - Number(b)),
    done.map((_, i) => i),
  )
  let listed = 0
  for await (const _ of store.list({ gte: 'step/', lt: 'step0' })) listed += 1
  assert.equal(listed, done.length)
}

/** Callers that commit as fast as they are answered until they are told to stop; answers what was acknowledged, which is all. */
export function load(store: RecordStore, callers: number, name = 'load'): { stop(): Promise<readonly Step[]> } {
  const done: Step[] = []
  let isStopped = false
  let n = 0
  const caller = async (): Promise<void> => {
    while (!isStopped) {
      const one = stepOf(`${name} ${(n += 1)}`)
      assert.ok((await store.commit(one)).ok)
      done.push(one)
    }
  }
  const all = Promise.all(Array.from({ length: callers }, caller))
  return {
    async stop() {
      isStopped = true
      await all
      return done
    },
  }
}
