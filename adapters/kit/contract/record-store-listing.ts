import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Commit, Key, Range, Version } from '../index.ts'
import { bytes, text, counter, type RecordStorePair } from './record-store-pair.ts'

/** Tests of lists. */
export function testListing(stores: RecordStorePair): void {
  describe('listing', () => {
    testOrder(stores)
    testPages(stores)
    testEntries(stores)
  })
}

/** Ends of keys. Their bytewise order differs from the order of words and of paths. */
const KEY_PARTS = [
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

/** Tests of the order of keys. */
function testOrder(stores: RecordStorePair): void {
  it('sorts keys bytewise, in both directions', async () => {
    const keys = KEY_PARTS.map((part) => `odd/${part}`)
    await stores.commitOk({ writes: [...keys].reverse().map((key) => ({ key, value: bytes(key) })) })
    const sorted = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    const names = async (range: Range): Promise<Key[]> => (await stores.listAll(range)).map((entry) => entry.key)
    assert.deepEqual(await names({ gte: 'odd/', lt: 'odd0' }), sorted)
    assert.deepEqual(await names({ gte: 'odd/', lt: 'odd0', reverse: true }), [...sorted].reverse())
    assert.deepEqual(await names({ gte: 'odd/a', lt: 'odd/a0' }), ['odd/a', 'odd/a-b', 'odd/a.b', 'odd/a/', 'odd/a/b'])
    assert.deepEqual(await names({ gte: 'odd/a', lt: 'odd/a' }), [])
    assert.deepEqual(await names({ gte: 'odd/z', lt: 'odd/a' }), [])
  })
}

/** Tests of lists with so many keys that a store may read them in pages. */
function testPages(stores: RecordStorePair): void {
  it('loses no key after the last one of a page, whatever follows it in its own bytes', async () => {
    const keys = Array.from({ length: 700 }, (_, i) => `edge/${String(i).padStart(4, '0')}A`).flatMap((key) => [
      key,
      `${key}%20B`,
    ])
    for (let at = 0; at < keys.length; at += 350)
      await stores.commitOk({ writes: keys.slice(at, at + 350).map((key) => ({ key, value: bytes(key) })) })
    // From the first key on and from the second one, so that a page of any size ends with a key of either kind.
    for (const from of [0, 1])
      for (const reverse of [false, true]) {
        const expected = reverse ? keys.slice(from).reverse() : keys.slice(from)
        const listed = await stores.listAll({ gte: keys[from] ?? '', lt: 'edge0', reverse })
        assert.deepEqual(
          listed.map(({ key }) => key),
          expected,
        )
      }
  })

  it('lists thousands of keys in both directions, up to a limit', async () => {
    const keys = Array.from({ length: 1500 }, (_, i) => `page/${String(i).padStart(5, '0')}`)
    for (let at = 0; at < keys.length; at += 500)
      await stores.commitOk({ writes: keys.slice(at, at + 500).map((key) => ({ key, value: bytes(key) })) })
    const range = { gte: 'page/', lt: 'page0' }
    for (const reverse of [false, true]) {
      const expected = reverse ? [...keys].reverse() : keys
      for (const limit of [undefined, 0, 1, 2, 127, 128, 129, 255, 256, 257, 1499, 1500, 1501]) {
        const actual = await stores.listAll({ ...range, reverse, ...(limit === undefined ? {} : { limit }) })
        assert.deepEqual(
          actual.map((entry) => entry.key),
          expected.slice(0, limit),
          `reverse ${reverse}, limit ${limit}`,
        )
      }
    }
    const from = await stores.listAll({ gte: 'page/00700', lt: 'page0', limit: 3 })
    assert.deepEqual(from.map(text), ['page/00700', 'page/00701', 'page/00702'])
  })
}

/** Tests of the listed entries, also of a list that is ended early. */
function testEntries(stores: RecordStorePair): void {
  it('lists the same entries that get returns, and no internal keys of the store', async () => {
    const entries = await stores.listAll({ gte: '', lt: '\x7f' })
    assert.ok(entries.length > 0)
    for (const { key } of entries) assert.match(key, /^[\x20-\x7e]+$/)
    const some = entries.slice(0, 100)
    assert.deepEqual(await stores.store.get(some.map((entry) => entry.key)), some)
  })

  it('can be ended early', async () => {
    await stores.commitOk({ writes: ['early/a', 'early/b', 'early/c'].map((key) => ({ key, value: bytes('') })) })
    for await (const entry of stores.store.list({ gte: 'early/', lt: 'early0' })) {
      assert.equal(entry.key, 'early/a')
      break
    }
  })
}

/** Tests of counters. */
export function testCounters(stores: RecordStorePair): void {
  describe('counters', () => {
    it('counts from 0, up and down, as 8 bytes two’s complement', async () => {
      await stores.commitOk({ adds: [{ key: 'count/a', delta: 5 }] })
      assert.equal(counter(await stores.getOne('count/a')), 5n)
      await stores.commitOk({ adds: [{ key: 'count/a', delta: -8 }] })
      assert.deepEqual(
        new Uint8Array((await stores.getOne('count/a'))?.value ?? []),
        Uint8Array.of(255, 255, 255, 255, 255, 255, 255, 253),
      )
      await stores.commitOk({ adds: [{ key: 'count/a', delta: Number.MAX_SAFE_INTEGER }] })
      await stores.commitOk({ adds: [{ key: 'count/a', delta: Number.MAX_SAFE_INTEGER }] })
      assert.equal(counter(await stores.getOne('count/a')), 2n * BigInt(Number.MAX_SAFE_INTEGER) - 3n)
    })

    it('is a record like any other: listed, checked, deleted', async () => {
      const { version } = await stores.commitOk({ adds: [{ key: 'count/b', delta: 1 }] })
      assert.deepEqual((await stores.listAll({ gte: 'count/b', lt: 'count/c' })).map(counter), [1n])
      const guarded = (check: Version | null): Commit => ({
        checks: [{ key: 'count/b', version: check }],
        adds: [{ key: 'count/b', delta: 1 }],
      })
      const second = await stores.commitOk(guarded(version))
      assert.deepEqual(await stores.store.commit(guarded(version)), { ok: false, conflicts: ['count/b'] })
      const third = await stores.commitOk({ adds: [{ key: 'count/b', delta: 0 }] })
      assert.notEqual(third.version, second.version)
      await stores.commitOk({ writes: [{ key: 'count/b', value: null }] })
      await stores.commitOk({ adds: [{ key: 'count/b', delta: 7 }] })
      assert.equal(counter(await stores.getOne('count/b')), 7n)
    })

    it('rejects an add to a record that is not a counter, without effect on other commits', async () => {
      await stores.commitOk({ writes: [{ key: 'count/text', value: bytes('text') }] })
      const [invalid, valid] = await Promise.allSettled([
        stores.store.commit({
          writes: [{ key: 'count/x', value: bytes('x') }],
          adds: [{ key: 'count/text', delta: 1 }],
        }),
        stores.store.commit({ adds: [{ key: 'count/fine', delta: 1 }] }),
      ])
      assert.equal(invalid.status, 'rejected')
      assert.equal(valid.status, 'fulfilled')
      assert.equal(await stores.getOne('count/x'), undefined)
      assert.equal(text(await stores.getOne('count/text')), 'text')
    })

    it('loses none of a hundred increments at the same time', async () => {
      const results = await stores.commitAll(
        Array.from({ length: 100 }, (_, i) => ({ adds: [{ key: 'count/race', delta: i % 2 === 0 ? 3 : -1 }] })),
      )
      assert.ok(results.every((result) => result.ok))
      assert.equal(counter(await stores.getOne('count/race')), 100n)
      assert.equal(new Set(results.map((result) => result.ok && result.version)).size, 100)
    })
  })
}
