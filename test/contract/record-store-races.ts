import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { EMPTY_VERSION } from '../../adapters/kit/index.ts'
import type { Commit, CommitResult, Key, RecordStore, Version } from '../../adapters/kit/index.ts'
import { bytes, text, UNKNOWN_VERSION, type RecordStorePair, logAppends } from './record-store-pair.ts'

/** Tests of commits at the same time. */
export function testRaces(stores: RecordStorePair): void {
  describe('races', () => {
    it('apply one of forty creates of a key', async () => {
      const results = await stores.commitAll(
        Array.from({ length: 40 }, (_, i) => ({
          checks: [{ key: 'race/one', version: null }],
          writes: [{ key: 'race/one', value: bytes(String(i)) }],
        })),
      )
      const winners = results.flatMap((result, i) => (result.ok ? [i] : []))
      assert.equal(winners.length, 1)
      assert.equal(text(await stores.getOne('race/one')), String(winners[0]))
    })

    it('prevent write skew: a check without a write counts as well', async () => {
      for (let i = 0; i < 20; i += 1) {
        const [x, y] = [`skew/${i}/x`, `skew/${i}/y`]
        const results = await stores.commitAll([
          { checks: [{ key: x, version: null }], writes: [{ key: y, value: bytes('') }] },
          { checks: [{ key: y, version: null }], writes: [{ key: x, value: bytes('') }] },
        ])
        assert.equal(results.filter((result) => result.ok).length, 1)
      }
    })

    it('lose no increment if writers check what they read', async () => {
      await stores.commitOk({ writes: [{ key: 'race/n', value: bytes('0') }] })
      const increment = async (target: RecordStore): Promise<void> => {
        for (;;) {
          const [entry] = await target.get(['race/n'])
          assert.ok(entry)
          const value = bytes(String(Number(text(entry)) + 1))
          const { ok } = await target.commit({
            checks: [{ key: 'race/n', version: entry.version }],
            writes: [{ key: 'race/n', value }],
          })
          if (ok) return
        }
      }
      await Promise.all(Array.from({ length: 20 }, (_, i) => increment(i % 2 === 0 ? stores.store : stores.peer)))
      assert.equal(text(await stores.getOne('race/n')), '20')
    })
  })
}

/** Tests that commits are serializable, with a property test of `runs` runs. */
export function testSerializability(stores: RecordStorePair, runs: number): void {
  it('is serializable: concurrent commits have the same result as in a naive model in some order', async () => {
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { maxLength: 8 }), async (groups) => {
        const prefix = `model/${(run += 1)}/`
        const start = await stores.store.logSize()
        let model: Model = { rows: new Map(), log: '', payloads: [] }
        for (const [g, group] of groups.entries()) {
          const commits = group.map((next, i) => commitOf(next, prefix, model, 5_000_000 + g * 100 + i * 10))
          const results = await stores.commitAll(commits)
          const current: Model = {
            rows: new Map(
              (await stores.listAll({ gte: prefix, lt: `${prefix.slice(0, -1)}0` })).map(({ key, value, version }) => [
                key,
                { value: hex(value), version },
              ]),
            ),
            log: hex(await stores.store.readLog(start, 10_000)),
            payloads: (await stores.payloads(start, 10_000)).map(hex),
          }
          const orders = permutations(commits.map((_, i) => i))
          const isExplained = orders.some((order) =>
            isDeepStrictEqual(replay(model, order, commits, results, start), current),
          )
          assert.ok(isExplained, `no order explains ${JSON.stringify({ group, results })}`)
          model = current
        }
      }),
      { numRuns: runs },
    )
  })
}

const step = fc.record({
  check: fc.constantFrom('current', 'stale', 'absent', 'none'),
  checked: fc.constantFrom('a', 'b', 'c', 'n'),
  write: fc.option(
    fc.record({ key: fc.constantFrom('a', 'b', 'c'), value: fc.option(fc.uint8Array({ maxLength: 8 })) }),
  ),
  add: fc.option(fc.record({ key: fc.constantFrom('n', 'm'), delta: fc.integer({ min: -9, max: 9 }) })),
  append: fc.nat({ max: 3 }),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const hex = (value: Uint8Array): string => Buffer.from(value).toString('hex')

/** The records below a prefix, and the log from a position; values, log and payloads in hex. */
interface Model {
  readonly rows: ReadonlyMap<Key, { readonly value: string; readonly version: Version }>
  readonly log: string
  readonly payloads: readonly string[]
}

function commitOf(
  { check, checked, write, add, append }: Step,
  prefix: string,
  model: Model,
  firstEntry: number,
): Commit {
  const key = prefix + checked
  const current = model.rows.get(key)?.version ?? null
  return {
    checks:
      check === 'none'
        ? []
        : [{ key, version: check === 'current' ? current : check === 'absent' ? null : UNKNOWN_VERSION }],
    writes: write === null ? [] : [{ key: prefix + write.key, value: write.value }],
    adds: add === null ? [] : [{ key: prefix + add.key, delta: add.delta }],
    append: logAppends(firstEntry, append),
  }
}

/** Returns the model after the commits in this order, or `undefined` if one of them would have had another result. */
function replay(
  model: Model,
  order: readonly number[],
  commits: readonly Commit[],
  results: readonly CommitResult[],
  start: number,
): Model | undefined {
  const rows = new Map(model.rows)
  let { log } = model
  const payloads = [...model.payloads]
  for (const i of order) {
    const { checks = [], writes = [], adds = [], append = [] } = commits[i] ?? {}
    const result = results[i]
    assert.ok(result)
    const conflicts = checks
      .filter(({ key, version }) => (rows.get(key)?.version ?? null) !== version)
      .map(({ key }) => key)
    if (!result.ok) {
      if (conflicts.length === 0 || !isDeepStrictEqual(result.conflicts, conflicts)) return undefined
      continue
    }
    const { version, firstPosition } = result
    if (conflicts.length > 0 || firstPosition !== start + log.length / 64) return undefined
    for (const { key, value } of writes) {
      if (value === null) rows.delete(key)
      else rows.set(key, { value: hex(value), version: value.length > 0 ? version : EMPTY_VERSION })
    }
    for (const { key, delta } of adds) {
      const sum = BigInt.asIntN(64, BigInt(`0x${rows.get(key)?.value ?? '0'}`)) + BigInt(delta)
      rows.set(key, { value: BigInt.asUintN(64, sum).toString(16).padStart(16, '0'), version })
    }
    for (const { entry, payload } of append) {
      log += hex(entry)
      payloads.push(hex(payload))
    }
  }
  return { rows, log, payloads }
}

function permutations(items: readonly number[]): number[][] {
  if (items.length <= 1) return [[...items]]
  return items.flatMap((first) => permutations(items.filter((item) => item !== first)).map((rest) => [first, ...rest]))
}
