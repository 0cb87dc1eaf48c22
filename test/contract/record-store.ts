import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import type { Commit, CommitResult, Entry, Key, Range, RecordStore, Version } from '../../core/ports.ts'

/** The store under test. */
export interface OpenedRecordStore {
  /** An empty store. The suite closes it. */
  readonly store: RecordStore
  /** A second store over the same data, if the adapter supports that: races then use both. The suite closes it. */
  readonly peer?: RecordStore
  /**
   * Opens the same data again, after the suite has closed `store` and `peer`. Required unless the store is volatile.
   */
  readonly reopen?: () => Promise<OpenedRecordStore>
}

/** Options of `recordStoreContract`. */
export interface RecordStoreContractOptions {
  /** Number of runs of each property test. Default: 50. */
  readonly runs?: number
  /** True if the data of the store is lost when it is closed, so that `reopen` is not tested. Default: false. */
  readonly volatile?: boolean
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const text = (entry: Entry | undefined): string | undefined => entry && new TextDecoder().decode(entry.value)
const counter = (entry: Entry | undefined): bigint | undefined => entry && Buffer.from(entry.value).readBigInt64BE()
/** A version that no store assigns. */
const UNKNOWN_VERSION = 'none' as Version

/** Returns `count` log entries, packed. Entries of different positions differ. */
function logEntries(from: number, count: number): Uint8Array {
  const out = Buffer.alloc(count * 32)
  for (let i = 0; i < count; i += 1) {
    out.writeBigUInt64BE(BigInt(from + i), i * 32)
    out.fill(`entry ${from + i}`, i * 32 + 8, i * 32 + 32)
  }
  return new Uint8Array(out)
}

async function listAll(store: RecordStore, range: Range): Promise<Entry[]> {
  const out: Entry[] = []
  for await (const entry of store.list(range)) out.push(entry)
  return out
}

async function commitOk(store: RecordStore, commit: Commit): Promise<{ version: Version; firstPosition: number }> {
  const result = await store.commit(commit)
  assert.ok(result.ok, `conflict: ${JSON.stringify(result)}`)
  return result
}

/**
 * Tests with node:test everything that the port `RecordStore` promises. Most tests share one store and use keys of
 * their own.
 *
 * @param name name of the adapter, for the output
 * @param open opens a new, empty store; it is called more than once, and the suite closes what it opens
 * @param options see `RecordStoreContractOptions`
 * @example
 * ```ts
 * import { recordStoreContract } from 'evidence-registry/test/contract/record-store'
 *
 * const open = async (folder = temporaryFolder()) => ({ store: await openMine(folder), reopen: () => open(folder) })
 * recordStoreContract('mine', open)
 * ```
 */
export function recordStoreContract(
  name: string,
  open: () => Promise<OpenedRecordStore>,
  { runs = 50, volatile = false }: RecordStoreContractOptions = {},
): void {
  describe(`RecordStore contract: ${name}`, () => {
    let opened: OpenedRecordStore
    let store: RecordStore
    let peer: RecordStore
    const use = (next: OpenedRecordStore): void => {
      opened = next
      store = next.store
      peer = next.peer ?? next.store
    }
    const closeBoth = async (): Promise<void> => {
      await store.close()
      if (peer !== store) await peer.close()
    }
    /** Commits all at the same time, alternating between the store and its peer. */
    const commitAll = (commits: readonly Commit[]): Promise<CommitResult[]> =>
      Promise.all(commits.map((commit, i) => (i % 2 === 0 ? store : peer).commit(commit)))
    const getOne = async (key: Key): Promise<Entry | undefined> => (await store.get([key]))[0]

    before(async () => use(await open()))
    after(closeBoth)

    describe('records', () => {
      it('creates a key once', async () => {
        const create = (value: string): Commit => ({
          checks: [{ key: 'create/a', version: null }],
          writes: [{ key: 'create/a', value: bytes(value) }],
        })
        const { version } = await commitOk(store, create('first'))
        assert.deepEqual(await store.commit(create('second')), { ok: false, conflicts: ['create/a'] })
        const entry = await getOne('create/a')
        assert.equal(text(entry), 'first')
        assert.equal(entry?.version, version)
        assert.equal(entry?.key, 'create/a')
      })

      it('replaces only the checked version', async () => {
        const put = (value: string, version: Version | null): Commit => ({
          checks: [{ key: 'replace/a', version }],
          writes: [{ key: 'replace/a', value: bytes(value) }],
        })
        const first = await commitOk(store, put('1', null))
        const second = await commitOk(store, put('2', first.version))
        assert.notEqual(second.version, first.version)
        assert.equal((await store.commit(put('3', first.version))).ok, false)
        assert.equal((await store.commit(put('3', null))).ok, false)
        assert.equal(text(await getOne('replace/a')), '2')
      })

      it('never uses a version twice, not even after a deletion', async () => {
        const seen = new Set<Version>()
        for (let i = 0; i < 5; i += 1) {
          seen.add((await commitOk(store, { writes: [{ key: 'again/a', value: bytes('same') }] })).version)
          await commitOk(store, { writes: [{ key: 'again/a', value: null }] })
        }
        assert.equal(seen.size, 5)
        for (const version of seen) {
          const stale = await store.commit({
            checks: [{ key: 'again/a', version }],
            writes: [{ key: 'again/b', value: bytes('') }],
          })
          assert.equal(stale.ok, false)
        }
      })

      it('assigns one version to all keys of a commit', async () => {
        const writes = ['all/a', 'all/b'].map((key) => ({ key, value: bytes(key) }))
        const { version } = await commitOk(store, { writes, adds: [{ key: 'all/n', delta: 1 }] })
        const entries = await store.get(['all/a', 'all/b', 'all/n'])
        assert.deepEqual(
          entries.map((entry) => entry?.version),
          [version, version, version],
        )
      })

      it('deletes keys, whether they exist or not', async () => {
        await commitOk(store, { writes: [{ key: 'delete/a', value: bytes('x') }] })
        await commitOk(store, {
          writes: [
            { key: 'delete/a', value: null },
            { key: 'delete/none', value: null },
          ],
        })
        assert.deepEqual(await store.get(['delete/a', 'delete/none']), [undefined, undefined])
        assert.deepEqual(await listAll(store, { gte: 'delete/', lt: 'delete0' }), [])
      })

      it('applies nothing when a check fails, and names every conflict', async () => {
        const { version } = await commitOk(store, { writes: [{ key: 'atomic/there', value: bytes('x') }] })
        const size = await store.logSize()
        const result = await store.commit({
          checks: [
            { key: 'atomic/there', version: null },
            { key: 'atomic/there2', version },
            { key: 'atomic/fine', version: null },
            { key: 'atomic/counter', version: UNKNOWN_VERSION },
          ],
          writes: [
            { key: 'atomic/there', value: null },
            { key: 'atomic/new', value: bytes('x') },
          ],
          adds: [{ key: 'atomic/counter', delta: 1 }],
          append: logEntries(9_000_000, 1),
        })
        assert.ok(!result.ok)
        assert.deepEqual([...result.conflicts].sort(), ['atomic/counter', 'atomic/there', 'atomic/there2'])
        assert.deepEqual((await listAll(store, { gte: 'atomic/', lt: 'atomic0' })).map(text), ['x'])
        assert.equal(await store.logSize(), size)
        assert.deepEqual(await store.positionsOf([logEntries(9_000_000, 1)]), [undefined])
      })

      it('accepts a commit that changes nothing', async () => {
        const { version } = await commitOk(store, { writes: [{ key: 'only/check', value: bytes('x') }] })
        assert.ok((await store.commit({ checks: [{ key: 'only/check', version }] })).ok)
        assert.ok(!(await store.commit({ checks: [{ key: 'only/check', version: null }] })).ok)
        assert.ok((await store.commit({})).ok)
        assert.equal((await getOne('only/check'))?.version, version)
      })

      it('stores values of any bytes and size', async () => {
        const values = [
          new Uint8Array(),
          Uint8Array.of(0),
          new Uint8Array(256).map((_, i) => i),
          new Uint8Array(300_000).fill(7),
        ]
        await commitOk(store, { writes: values.map((value, i) => ({ key: `size/${i}`, value })) })
        const actual = await store.get(values.map((_, i) => `size/${i}`))
        assert.deepEqual(
          actual.map((entry) => entry && new Uint8Array(entry.value)),
          values,
        )
      })

      it('copies bytes, so that callers may change those that they gave or received', async () => {
        const value = bytes('mine')
        await commitOk(store, { writes: [{ key: 'own/a', value }] })
        value.fill(0)
        const first = await getOne('own/a')
        assert.equal(text(first), 'mine')
        first?.value.fill(0)
        const [listed] = await listAll(store, { gte: 'own/a', lt: 'own/b' })
        assert.equal(text(listed), 'mine')
        listed?.value.fill(0)
        assert.equal(text(await getOne('own/a')), 'mine')
      })

      it('rejects invalid commits and changes nothing', async () => {
        const value = bytes('x')
        const wrong: Commit[] = [
          { writes: [1, 2].map(() => ({ key: 'wrong/twice', value })) },
          { writes: [{ key: 'wrong/both', value }], adds: [{ key: 'wrong/both', delta: 1 }] },
          { adds: [{ key: 'wrong/delta', delta: 0.5 }] },
          { adds: [{ key: 'wrong/delta', delta: 2 ** 53 }] },
          { append: new Uint8Array(31) },
          { writes: [{ key: '', value }] },
          { writes: [{ key: 'wrong/\0', value }] },
          { writes: [{ key: 'wrong/é', value }] },
          { writes: [{ key: `wrong/${'x'.repeat(2048)}`, value }] },
          { checks: [{ key: '\x01', version: null }] },
        ]
        for (const commit of wrong) {
          await assert.rejects(
            () => store.commit({ ...commit, writes: [...(commit.writes ?? []), { key: 'wrong/other', value }] }),
            (error) => error instanceof TypeError || error instanceof RangeError,
          )
        }
        assert.deepEqual(await listAll(store, { gte: 'wrong/', lt: 'wrong0' }), [])
        const longest = 'x'.repeat(2048)
        await commitOk(store, { writes: [{ key: longest, value }] })
        assert.equal(text(await getOne(longest)), 'x')
        await commitOk(store, { writes: [{ key: longest, value: null }] })
      })

      it('reads one snapshot', async () => {
        const keys = Array.from({ length: 20 }, (_, i) => `snap/${i}`)
        let isDone = false
        const writer = (async () => {
          for (let i = 0; i < 50; i += 1)
            await commitOk(store, { writes: keys.map((key) => ({ key, value: bytes(String(i)) })) })
          isDone = true
        })()
        let reads = 0
        while (!isDone) {
          const values = (await peer.get(keys)).map(text)
          assert.equal(new Set(values).size, 1, `torn read: ${values.join()}`)
          reads += 1
          await new Promise(setImmediate)
        }
        await writer
        assert.ok(reads > 0)
      })

      it('returns a key as often as it is requested', async () => {
        await commitOk(store, { writes: [{ key: 'often/a', value: bytes('x') }] })
        assert.deepEqual((await store.get(['often/a', 'often/none', 'often/a'])).map(text), ['x', undefined, 'x'])
        assert.deepEqual(await store.get([]), [])
      })
    })

    describe('listing', () => {
      const keyParts = [
        ' ',
        '!',
        '"',
        '%',
        '%2F',
        '-',
        '--',
        '.',
        '..',
        '/',
        '//',
        '0',
        '0a',
        'A',
        'Z',
        '_',
        'a',
        'a-b',
        'a.b',
        'a/',
        'a/b',
        'a0',
        'z',
        '~',
        '~~',
      ]

      it('sorts keys bytewise, in both directions', async () => {
        const keys = keyParts.map((part) => `odd/${part}`)
        await commitOk(store, { writes: [...keys].reverse().map((key) => ({ key, value: bytes(key) })) })
        const sorted = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
        const names = async (range: Range): Promise<Key[]> => (await listAll(store, range)).map((entry) => entry.key)
        assert.deepEqual(await names({ gte: 'odd/', lt: 'odd0' }), sorted)
        assert.deepEqual(await names({ gte: 'odd/', lt: 'odd0', reverse: true }), [...sorted].reverse())
        assert.deepEqual(await names({ gte: 'odd/a', lt: 'odd/a0' }), [
          'odd/a',
          'odd/a-b',
          'odd/a.b',
          'odd/a/',
          'odd/a/b',
        ])
        assert.deepEqual(await names({ gte: 'odd/a', lt: 'odd/a' }), [])
        assert.deepEqual(await names({ gte: 'odd/z', lt: 'odd/a' }), [])
      })

      it('lists thousands of keys in both directions, up to a limit', async () => {
        const keys = Array.from({ length: 1500 }, (_, i) => `page/${String(i).padStart(5, '0')}`)
        for (let at = 0; at < keys.length; at += 500)
          await commitOk(store, { writes: keys.slice(at, at + 500).map((key) => ({ key, value: bytes(key) })) })
        const range = { gte: 'page/', lt: 'page0' }
        for (const reverse of [false, true]) {
          const expected = reverse ? [...keys].reverse() : keys
          for (const limit of [undefined, 0, 1, 2, 127, 128, 129, 255, 256, 257, 1499, 1500, 1501]) {
            const actual = await listAll(store, { ...range, reverse, ...(limit === undefined ? {} : { limit }) })
            assert.deepEqual(
              actual.map((entry) => entry.key),
              expected.slice(0, limit),
              `reverse ${reverse}, limit ${limit}`,
            )
          }
        }
        const from = await listAll(store, { gte: 'page/00700', lt: 'page0', limit: 3 })
        assert.deepEqual(from.map(text), ['page/00700', 'page/00701', 'page/00702'])
      })

      it('lists the same entries that get returns, and no internal keys of the store', async () => {
        const entries = await listAll(store, { gte: '', lt: '\x7f' })
        assert.ok(entries.length > 0)
        for (const { key } of entries) assert.match(key, /^[\x20-\x7e]+$/)
        const some = entries.slice(0, 100)
        assert.deepEqual(await store.get(some.map((entry) => entry.key)), some)
      })

      it('can be ended early', async () => {
        await commitOk(store, { writes: ['early/a', 'early/b', 'early/c'].map((key) => ({ key, value: bytes('') })) })
        for await (const entry of store.list({ gte: 'early/', lt: 'early0' })) {
          assert.equal(entry.key, 'early/a')
          break
        }
      })
    })

    describe('counters', () => {
      it('counts from 0, up and down, as 8 bytes two’s complement', async () => {
        await commitOk(store, { adds: [{ key: 'count/a', delta: 5 }] })
        assert.equal(counter(await getOne('count/a')), 5n)
        await commitOk(store, { adds: [{ key: 'count/a', delta: -8 }] })
        assert.deepEqual(
          new Uint8Array((await getOne('count/a'))?.value ?? []),
          Uint8Array.of(255, 255, 255, 255, 255, 255, 255, 253),
        )
        await commitOk(store, { adds: [{ key: 'count/a', delta: Number.MAX_SAFE_INTEGER }] })
        await commitOk(store, { adds: [{ key: 'count/a', delta: Number.MAX_SAFE_INTEGER }] })
        assert.equal(counter(await getOne('count/a')), 2n * BigInt(Number.MAX_SAFE_INTEGER) - 3n)
      })

      it('is a record like any other: listed, checked, deleted', async () => {
        const { version } = await commitOk(store, { adds: [{ key: 'count/b', delta: 1 }] })
        assert.deepEqual((await listAll(store, { gte: 'count/b', lt: 'count/c' })).map(counter), [1n])
        const guarded = (check: Version | null): Commit => ({
          checks: [{ key: 'count/b', version: check }],
          adds: [{ key: 'count/b', delta: 1 }],
        })
        const second = await commitOk(store, guarded(version))
        assert.deepEqual(await store.commit(guarded(version)), { ok: false, conflicts: ['count/b'] })
        const third = await commitOk(store, { adds: [{ key: 'count/b', delta: 0 }] })
        assert.notEqual(third.version, second.version)
        await commitOk(store, { writes: [{ key: 'count/b', value: null }] })
        await commitOk(store, { adds: [{ key: 'count/b', delta: 7 }] })
        assert.equal(counter(await getOne('count/b')), 7n)
      })

      it('rejects an add to a record that is not a counter, without effect on other commits', async () => {
        await commitOk(store, { writes: [{ key: 'count/text', value: bytes('text') }] })
        const [invalid, valid] = await Promise.allSettled([
          store.commit({ writes: [{ key: 'count/x', value: bytes('x') }], adds: [{ key: 'count/text', delta: 1 }] }),
          store.commit({ adds: [{ key: 'count/fine', delta: 1 }] }),
        ])
        assert.equal(invalid.status, 'rejected')
        assert.equal(valid.status, 'fulfilled')
        assert.equal(await getOne('count/x'), undefined)
        assert.equal(text(await getOne('count/text')), 'text')
      })

      it('loses none of a hundred increments at the same time', async () => {
        const results = await commitAll(
          Array.from({ length: 100 }, (_, i) => ({ adds: [{ key: 'count/race', delta: i % 2 === 0 ? 3 : -1 }] })),
        )
        assert.ok(results.every((result) => result.ok))
        assert.equal(counter(await getOne('count/race')), 100n)
        assert.equal(new Set(results.map((result) => result.ok && result.version)).size, 100)
      })
    })

    describe('the log', () => {
      it('is dense for appends of every size, also across multiples of 256', async () => {
        const start = await store.logSize()
        const sizes = [1, 1, 3, 250, 1, 1, 254, 2, 255, 256, 257, 512, 100, 700, 1, 31, 1024, 0, 5]
        let at = start
        for (const count of sizes) {
          const { firstPosition } = await commitOk(store, { append: logEntries(at, count) })
          assert.equal(firstPosition, at)
          at += count
          assert.equal(await store.logSize(), at)
        }
        const whole = logEntries(start, at - start)
        assert.deepEqual(new Uint8Array(await store.readLog(start, at - start)), whole)
        const expected = (from: number, count: number): Uint8Array =>
          whole.slice((from - start) * 32, (from - start + count) * 32)
        for (const from of [start, start + 1, start + 255, start + 256, start + 257, start + 1000, at - 6, at - 1]) {
          for (const count of [0, 1, 2, 255, 256, 257, 600, at])
            assert.deepEqual(
              new Uint8Array(await store.readLog(from, count)),
              expected(from, count),
              `from ${from}, count ${count}`,
            )
        }
      })

      it('returns fewer entries than requested only at its end', async () => {
        const size = await store.logSize()
        assert.ok(size > 0)
        assert.equal((await store.readLog(size - 1, 10)).length, 32)
        assert.equal((await store.readLog(size, 10)).length, 0)
        assert.equal((await store.readLog(size + 1000, 10)).length, 0)
        assert.equal((await store.readLog(0, Number.MAX_SAFE_INTEGER)).length, size * 32)
        for (const [from, count] of [
          [-1, 1],
          [0, -1],
          [0.5, 1],
          [0, Infinity],
        ] as const)
          await assert.rejects(store.readLog(from, count), RangeError)
      })

      it('finds positions, and the first one of equal entries', async () => {
        const size = await store.logSize()
        const entry = (n: number): Uint8Array => logEntries(1_000_000 + n, 1)
        const append = Buffer.concat([entry(1), entry(2), entry(1)])
        await commitOk(store, { append })
        await commitOk(store, { append: entry(2) })
        await commitOk(store, { append: entry(3) })
        const entries = [entry(3), entry(1), entry(4), entry(2), entry(2)]
        assert.deepEqual(await store.positionsOf(entries), [size + 4, size, undefined, size + 1, size + 1])
        assert.deepEqual(await store.positionsOf([]), [])
        assert.deepEqual(
          await store.positionsOf(Array.from({ length: 20 }, () => entry(3))),
          Array.from({ length: 20 }, () => size + 4),
        )
      })

      it('keeps the entries of a commit together while others append', async () => {
        const commits = Array.from({ length: 60 }, (_, i) => ({ append: logEntries(2_000_000 + i * 100, (i % 9) + 1) }))
        const start = await store.logSize()
        const results = await commitAll(commits)
        const ranges: [number, number][] = []
        for (const [i, result] of results.entries()) {
          assert.ok(result.ok)
          const append = commits[i]?.append ?? new Uint8Array()
          assert.deepEqual(new Uint8Array(await store.readLog(result.firstPosition, append.length / 32)), append)
          ranges.push([result.firstPosition, result.firstPosition + append.length / 32])
        }
        ranges.sort(([a], [b]) => a - b)
        let at = start
        for (const [from, to] of ranges) {
          assert.equal(from, at)
          at = to
        }
        assert.equal(await store.logSize(), at)
      })

      it('returns its size to a commit that appends nothing', async () => {
        const size = await store.logSize()
        const { firstPosition } = await commitOk(store, { writes: [{ key: 'log/none', value: bytes('') }] })
        assert.equal(firstPosition, size)
      })
    })

    describe('races', () => {
      it('apply one of forty creates of a key', async () => {
        const results = await commitAll(
          Array.from({ length: 40 }, (_, i) => ({
            checks: [{ key: 'race/one', version: null }],
            writes: [{ key: 'race/one', value: bytes(String(i)) }],
          })),
        )
        const winners = results.flatMap((result, i) => (result.ok ? [i] : []))
        assert.equal(winners.length, 1)
        assert.equal(text(await getOne('race/one')), String(winners[0]))
      })

      it('prevent write skew: a check without a write counts as well', async () => {
        for (let i = 0; i < 20; i += 1) {
          const [x, y] = [`skew/${i}/x`, `skew/${i}/y`]
          const results = await commitAll([
            { checks: [{ key: x, version: null }], writes: [{ key: y, value: bytes('') }] },
            { checks: [{ key: y, version: null }], writes: [{ key: x, value: bytes('') }] },
          ])
          assert.equal(results.filter((result) => result.ok).length, 1)
        }
      })

      it('lose no increment if writers check what they read', async () => {
        await commitOk(store, { writes: [{ key: 'race/n', value: bytes('0') }] })
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
        await Promise.all(Array.from({ length: 20 }, (_, i) => increment(i % 2 === 0 ? store : peer)))
        assert.equal(text(await getOne('race/n')), '20')
      })
    })

    it('is serializable: concurrent commits have the same result as in a naive model in some order', async () => {
      let run = 0
      await fc.assert(
        fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { maxLength: 8 }), async (groups) => {
          const prefix = `model/${(run += 1)}/`
          const start = await store.logSize()
          let model: Model = { rows: new Map(), log: '' }
          for (const [g, group] of groups.entries()) {
            const commits = group.map((next, i) => commitOf(next, prefix, model, 5_000_000 + g * 100 + i * 10))
            const results = await commitAll(commits)
            const current: Model = {
              rows: new Map(
                (await listAll(store, { gte: prefix, lt: `${prefix.slice(0, -1)}0` })).map(
                  ({ key, value, version }) => [key, { value: hex(value), version }],
                ),
              ),
              log: hex(await store.readLog(start, 10_000)),
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

    const testReopen = async (): Promise<void> => {
      assert.ok(
        opened.reopen,
        '`open` returned no `reopen`: set the option `volatile` if the store loses its data when it is closed',
      )
      const range = { gte: '', lt: '\x7f' }
      const acknowledged = await commitOk(store, {
        writes: [{ key: 'reopen/a', value: bytes('x') }],
        append: logEntries(3_000_000, 3),
      })
      const entries = await listAll(store, range)
      const size = await store.logSize()
      const log = new Uint8Array(await store.readLog(0, size))
      await closeBoth()
      use(await opened.reopen())
      assert.deepEqual(await listAll(store, range), entries)
      assert.equal(await store.logSize(), size)
      assert.deepEqual(new Uint8Array(await store.readLog(0, size)), log)
      assert.deepEqual(await store.positionsOf([logEntries(3_000_002, 1)]), [acknowledged.firstPosition + 2])
      const next = await commitOk(store, {
        writes: [{ key: 'reopen/a', value: null }],
        append: logEntries(4_000_000, 300),
      })
      assert.equal(next.firstPosition, size)
      assert.ok(!entries.some((entry) => entry.version === next.version), 'a version was used again')
      assert.deepEqual(new Uint8Array(await store.readLog(size - 1, 301)).subarray(32), logEntries(4_000_000, 300))
    }
    if (!volatile) it('holds everything that it acknowledged when it is opened again', testReopen)

    it('finishes waiting commits when it is closed, and rejects later calls', async () => {
      const { store: closing, peer: other } = await open()
      const waiting = Array.from({ length: 30 }, (_, i) =>
        closing.commit({ writes: [{ key: `close/${i}`, value: bytes('') }] }),
      )
      const closed = closing.close()
      const late = closing.commit({ writes: [{ key: 'close/late', value: bytes('') }] })
      const [lateResult] = await Promise.allSettled([late])
      assert.ok((await Promise.all(waiting)).every((result) => result.ok))
      await closed
      assert.equal(lateResult.status, 'rejected')
      const isClosed = { code: 'CLOSED' }
      await assert.rejects(late, isClosed)
      await assert.rejects(closing.get(['a']), isClosed)
      await assert.rejects(listAll(closing, { gte: 'a', lt: 'b' }), isClosed)
      await assert.rejects(closing.commit({}), isClosed)
      await assert.rejects(closing.readLog(0, 1), isClosed)
      await assert.rejects(closing.logSize(), isClosed)
      await assert.rejects(closing.positionsOf([]), isClosed)
      await closing.close()
      await other?.close()
    })
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

/** The records below a prefix, and the log from a position; values and log in hex. */
interface Model {
  readonly rows: ReadonlyMap<Key, { readonly value: string; readonly version: Version }>
  readonly log: string
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
    append: logEntries(firstEntry, append),
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
  for (const i of order) {
    const { checks = [], writes = [], adds = [], append = new Uint8Array() } = commits[i] ?? {}
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
      else rows.set(key, { value: hex(value), version })
    }
    for (const { key, delta } of adds) {
      const sum = BigInt.asIntN(64, BigInt(`0x${rows.get(key)?.value ?? '0'}`)) + BigInt(delta)
      rows.set(key, { value: BigInt.asUintN(64, sum).toString(16).padStart(16, '0'), version })
    }
    log += hex(append)
  }
  return { rows, log }
}

function permutations(items: readonly number[]): number[][] {
  if (items.length <= 1) return [[...items]]
  return items.flatMap((first) => permutations(items.filter((item) => item !== first)).map((rest) => [first, ...rest]))
}
