import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type GroupPlan, versionOf } from '../../../core/store/commit-plan.ts'
import { CommitQueue } from '../../../core/store/commit-queue.ts'
import { RegistryError } from '../../../core/errors.ts'
import type { Commit } from '../../../core/ports/index.ts'

const commitOf = (key: string): Commit => ({ checks: [{ key, version: null }] })
const keyOf = (commit: Commit): string => commit.checks?.[0]?.key ?? ''
const ok = (position: number) => ({ ok: true, version: versionOf(1), firstPosition: position }) as const

/** A queue whose groups the test ends itself. */
function controlledQueue() {
  const groups: {
    readonly keys: readonly string[]
    readonly end: (outcomes: GroupPlan['outcomes'] | Error) => void
  }[] = []
  const queue = new CommitQueue(
    (commits) =>
      new Promise((resolve, reject) => {
        groups.push({
          keys: commits.map(keyOf),
          end: (outcomes) => (outcomes instanceof Error ? reject(outcomes) : resolve({ outcomes })),
        })
      }),
  )
  return { queue, groups }
}

const turns = async (): Promise<void> => {
  for (let i = 0; i < 4; i++) await new Promise(setImmediate)
}

describe('CommitQueue', () => {
  it('joins commits of one turn, and commits that wait while a group is written', async () => {
    const { queue, groups } = controlledQueue()
    const first = ['a', 'b'].map((key) => queue.add(commitOf(key)))
    await turns()
    const second = ['c', 'd'].map((key) => queue.add(commitOf(key)))
    await turns()
    const shownKeys = groups.map(({ keys }) => keys)
    assert.deepEqual(shownKeys, [['a', 'b']])
    groups[0]?.end([ok(0), { ok: false, conflicts: ['b'] }])
    assert.deepEqual(await Promise.all(first), [ok(0), { ok: false, conflicts: ['b'] }])
    await turns()
    assert.deepEqual(groups[1]?.keys, ['c', 'd'])
    groups[1]?.end([ok(1), ok(2)])
    assert.deepEqual(await Promise.all(second), [ok(1), ok(2)])
    await queue.emptied()
    const third = queue.add(commitOf('e'))
    await turns()
    groups[2]?.end([ok(3)])
    assert.deepEqual(await third, ok(3))
  })

  it('rejects one commit with its own error, a whole group with the error of its write, and continues', async () => {
    const { queue, groups } = controlledQueue()
    const error = new RegistryError('CORRUPT', 'its counter')
    const mixed = Promise.allSettled(['a', 'b'].map((key) => queue.add(commitOf(key))))
    await turns()
    groups[0]?.end([error, ok(0)])
    const failed = Promise.allSettled(['c', 'd'].map((key) => queue.add(commitOf(key))))
    await turns()
    const down = new Error('down')
    groups[1]?.end(down)
    const last = queue.add(commitOf('e'))
    await turns()
    groups[2]?.end([ok(1)])
    assert.deepEqual(await mixed, [
      { status: 'rejected', reason: error },
      { status: 'fulfilled', value: ok(0) },
    ])
    assert.deepEqual(
      (await failed).map((result) => result.status === 'rejected' && result.reason),
      [down, down],
    )
    assert.deepEqual(await last, ok(1))
  })

  it('starts a group of 128 before the turn ends', async () => {
    const { queue, groups } = controlledQueue()
    const add = (count: number) => Array.from({ length: count }, (_, i) => queue.add(commitOf(String(i))))
    const all = add(127)
    for (let i = 0; i < 9; i++) await Promise.resolve()
    assert.equal(groups.length, 0)
    all.push(...add(1))
    for (let i = 0; i < 9; i++) await Promise.resolve()
    assert.equal(groups[0]?.keys.length, 128)
    all.push(...add(5))
    groups[0]?.end(Array.from({ length: 128 }, () => ok(0)))
    await turns()
    groups[1]?.end(Array.from({ length: 5 }, () => ok(1)))
    assert.deepEqual((await Promise.all(all)).at(-1), ok(1))
  })

  it('writes at most 1,024 commits in a group, in the order in which they were added', async () => {
    const { queue, groups } = controlledQueue()
    const names = Array.from({ length: 2_500 }, (_, i) => String(i))
    const all = Promise.all(names.map((key) => queue.add(commitOf(key))))
    for (let group = 0; group < 3; group++) {
      await turns()
      groups[group]?.end((groups[group]?.keys ?? []).map((key) => ok(Number(key))))
    }
    const shown = (await all).map((result) => result.ok && result.firstPosition)
    assert.deepEqual(shown, names.map(Number))
    const lengths = groups.map(({ keys }) => keys.length)
    assert.deepEqual(lengths, [1_024, 1_024, 452])
  })
})
