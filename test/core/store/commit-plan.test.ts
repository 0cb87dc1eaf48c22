import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  assertCommit,
  keysToRead,
  planGroup,
  type GroupPlan,
  type GroupSnapshot,
  versionOf,
} from '../../../core/store/commit-plan.ts'
import { decodeCounter, encodeCounter, countOf } from '../../../core/store/counter.ts'
import { RegistryError } from '../../../core/errors.ts'
import type { Commit, Stored, Key, LogAppend } from '../../../core/ports/index.ts'
import { appendsOf } from '../../contract/record-store-pair.ts'

const EMPTY: GroupSnapshot = { entries: new Map(), logSize: 0, lastVersion: 0 }
const value = Uint8Array.of(1)

/** The snapshot that a store holds after it has written the plan. */
function applyPlan(snapshot: GroupSnapshot, plan: GroupPlan): GroupSnapshot {
  const entries = new Map(snapshot.entries)
  for (const key of plan.deletes) entries.delete(key)
  for (const entry of plan.puts) entries.set(entry.key, entry)
  return { entries, logSize: plan.logSize, lastVersion: plan.lastVersion }
}

const keyName = fc.constantFrom<Key>('a', 'b', 'c', 'd')
const commit: fc.Arbitrary<Commit> = fc
  .record({
    checks: fc.array(fc.record({ key: keyName, version: fc.option(fc.nat({ max: 12 }).map(versionOf)) }), {
      maxLength: 2,
    }),
    changes: fc.uniqueArray(
      fc.record({
        key: keyName,
        value: fc.option(fc.oneof(fc.uint8Array({ maxLength: 3 }), fc.constant(encodeCounter(5n)))),
        delta: fc.option(fc.integer()),
      }),
      { selector: ({ key }) => key, maxLength: 3 },
    ),
    append: fc.nat({ max: 3 }),
    fill: fc.nat({ max: 255 }),
  })
  .map(({ checks, changes, append, fill }) => ({
    checks,
    writes: changes.filter(({ delta }) => delta === null),
    adds: changes.flatMap(({ key, delta }) => (delta === null ? [] : [{ key, delta }])),
    append: appendsOf(new Uint8Array(append * 32).fill(fill)),
  }))

describe('planGroup', () => {
  it('has the same result as planning the commits one at a time', () => {
    let appliedCount = 0
    let conflictCount = 0
    fc.assert(
      fc.property(fc.array(commit, { maxLength: 12 }), (commits) => {
        let snapshot = EMPTY
        const appended: LogAppend[] = []
        const outcomes = commits.flatMap((next) => {
          // Only the keys in keysToRead: if planGroup needed another one, keysToRead would be wrong.
          const entries = new Map<Key, Stored>()
          for (const key of keysToRead(next)) {
            const entry = snapshot.entries.get(key)
            if (entry !== undefined) entries.set(key, entry)
          }
          const plan = planGroup([next], { ...snapshot, entries })
          snapshot = applyPlan(snapshot, plan)
          appended.push(...plan.appended)
          return plan.outcomes
        })
        const group = planGroup(commits, EMPTY)
        assert.deepEqual(group.outcomes, outcomes)
        assert.deepEqual(applyPlan(EMPTY, group), snapshot)
        assert.deepEqual(group.appended, appended)
        const touched = [...group.puts.map(({ key }) => key), ...group.deletes]
        assert.equal(new Set(touched).size, touched.length)
        appliedCount += outcomes.filter((outcome) => !(outcome instanceof RegistryError) && outcome.ok).length
        conflictCount += outcomes.filter((outcome) => !(outcome instanceof RegistryError) && !outcome.ok).length
      }),
      { numRuns: 500 },
    )
    assert.ok(appliedCount > 100 && conflictCount > 100, `${appliedCount} applied, ${conflictCount} in conflict`)
  })

  it('lets a later commit see the changes of an earlier one', () => {
    const create: Commit = {
      checks: [{ key: 'a', version: null }],
      writes: [{ key: 'a', value }],
      append: appendsOf(new Uint8Array(64)),
    }
    const plan = planGroup([create, create, { writes: [{ key: 'a', value: null }] }, create], EMPTY)
    assert.deepEqual(plan.outcomes, [
      { ok: true, version: versionOf(1), firstPosition: 0 },
      { ok: false, conflicts: ['a'] },
      { ok: true, version: versionOf(2), firstPosition: 2 },
      { ok: true, version: versionOf(3), firstPosition: 2 },
    ])
    assert.deepEqual(plan.puts, [{ key: 'a', value, version: versionOf(3) }])
    assert.deepEqual(plan.deletes, [])
    assert.equal(plan.logSize, 4)
    assert.equal(plan.appended.length, 4)
  })

  it('names each key in conflict once, in the order of the checks', () => {
    const checks = ['b', 'a', 'b'].map((key) => ({ key, version: versionOf(1) }))
    assert.deepEqual(planGroup([{ checks }], EMPTY).outcomes, [{ ok: false, conflicts: ['b', 'a'] }])
  })

  it('assigns no version if nothing changes', () => {
    const plan = planGroup([{}, { checks: [{ key: 'a', version: null }] }], { ...EMPTY, lastVersion: 7 })
    assert.equal(plan.lastVersion, 7)
    assert.deepEqual([plan.puts, plan.deletes, plan.appended.length], [[], [], 0])
  })

  it('assigns a version to a commit that only appends or only deletes', () => {
    assert.equal(planGroup([{ append: appendsOf(new Uint8Array(32)) }], EMPTY).lastVersion, 1)
    assert.equal(planGroup([{ writes: [{ key: 'a', value: null }] }], EMPTY).lastVersion, 1)
  })

  it('applies nothing of a commit whose counter cannot be changed', () => {
    const most = { key: 'most', value: encodeCounter(2n ** 63n - 1n), version: versionOf(1) }
    const text = { key: 'text', value: Uint8Array.of(1, 2, 3), version: versionOf(1) }
    const snapshot = { entries: new Map([most, text].map((entry) => [entry.key, entry])), logSize: 3, lastVersion: 1 }
    for (const key of ['most', 'text']) {
      const wrong: Commit = {
        writes: [{ key: 'a', value }],
        adds: [
          { key: 'fine', delta: 1 },
          { key, delta: 1 },
        ],
        append: appendsOf(new Uint8Array(32)),
      }
      const plan = planGroup([wrong, { writes: [{ key: 'b', value }] }], snapshot)
      const [rejected, accepted] = plan.outcomes
      assert.ok(rejected instanceof RegistryError && rejected.code === 'CORRUPT')
      assert.deepEqual(accepted, { ok: true, version: versionOf(2), firstPosition: 3 })
      assert.deepEqual(plan.puts, [{ key: 'b', value, version: versionOf(2) }])
      assert.equal(plan.logSize, 3)
    }
  })
})

describe('assertCommit', () => {
  it('accepts a valid commit', () => {
    assertCommit({})
    assertCommit({
      checks: [{ key: 'a', version: null }],
      writes: [{ key: 'a', value }],
      adds: [{ key: 'b', delta: -3 }],
      append: appendsOf(new Uint8Array(96)),
    })
  })

  it('rejects a key changed twice, invalid keys, unsafe deltas, incomplete entries, and invalid payloads', () => {
    assert.throws(() => assertCommit({ writes: [{ key: 'a', value }], adds: [{ key: 'a', delta: 1 }] }), TypeError)
    for (const key of ['', '\n', '\x7f', 'ü', 'x'.repeat(2049)])
      assert.throws(() => assertCommit({ checks: [{ key, version: null }] }), TypeError)
    for (const delta of [0.1, NaN, Infinity, 2 ** 53])
      assert.throws(() => assertCommit({ adds: [{ key: 'a', delta }] }), RangeError)
    const [entry, payload] = [new Uint8Array(32), new Uint8Array(1)]
    for (const append of [
      { entry: new Uint8Array(33), payload },
      { entry, payload: new Uint8Array() },
      { entry, payload: new Uint8Array(16_385) },
    ])
      assert.throws(() => assertCommit({ append: [append] }), RangeError)
    for (const write of [
      { value, positionOf: 1 },
      { value: null, positionOf: 0 },
    ])
      assert.throws(() => assertCommit({ writes: [{ key: 'a', ...write }], append: [{ entry, payload }] }), RangeError)
  })
})

describe('counters', () => {
  it('are 8 bytes, big-endian, two’s complement', () => {
    assert.deepEqual(encodeCounter(-2n), Uint8Array.of(255, 255, 255, 255, 255, 255, 255, 254))
    assert.deepEqual(encodeCounter(258n), Uint8Array.of(0, 0, 0, 0, 0, 0, 1, 2))
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (n) =>
        assert.equal(decodeCounter(encodeCounter(n)), n),
      ),
    )
    for (const n of [2n ** 63n, -(2n ** 63n) - 1n]) assert.throws(() => encodeCounter(n), RangeError)
    assert.throws(() => decodeCounter(new Uint8Array(7)), RangeError)
  })

  it('start at 0 and stay within the safe integers', () => {
    assert.equal(countOf(undefined), 0)
    assert.equal(countOf({ value: encodeCounter(-9n) }), -9)
    assert.throws(() => countOf({ value: encodeCounter(2n ** 53n) }), RangeError)
  })
})
