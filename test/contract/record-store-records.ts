import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Commit, Version } from '../../adapters/kit/index.ts'
import {
  bytes,
  counter,
  logAppends,
  logEntries,
  text,
  UNKNOWN_VERSION,
  type RecordStorePair,
} from './record-store-pair.ts'

/** Tests of records: writes, checks, deletions and values. */
export function testRecords(stores: RecordStorePair): void {
  describe('records', () => {
    testVersionChecks(stores)
    testCommits(stores)
    testValues(stores)
    testInvalidCommits(stores)
  })
}

/** Tests of checks: each write assigns another version. */
function testVersionChecks(stores: RecordStorePair): void {
  it('replaces only the checked version; a key that does not exist has the version null', async () => {
    const put = (value: string, version: Version | null): Commit => ({
      checks: [{ key: 'replace/a', version }],
      writes: [{ key: 'replace/a', value: bytes(value) }],
    })
    const first = await stores.commitOk(put('1', null))
    const second = await stores.commitOk(put('2', first.version))
    assert.notEqual(second.version, first.version)
    for (const version of [first.version, null])
      assert.deepEqual(await stores.store.commit(put('3', version)), { ok: false, conflicts: ['replace/a'] })
    const entry = await stores.getOne('replace/a')
    assert.equal(text(entry), '2')
    assert.equal(entry?.version, second.version)
    assert.equal(entry?.key, 'replace/a')
  })

  it('never uses a version twice, not even after a deletion', async () => {
    const seen = new Set<Version>()
    for (let i = 0; i < 5; i += 1) {
      seen.add(await stores.put('again/a', 'same'))
      await stores.put('again/a', null)
    }
    assert.equal(seen.size, 5)
    for (const version of seen) assert.ok(!(await stores.store.commit({ checks: [{ key: 'again/a', version }] })).ok)
  })
}

/** Tests of what a commit changes: all of its keys, with one version, or nothing. */
function testCommits(stores: RecordStorePair): void {
  it('assigns one version to all keys of a commit', async () => {
    const writes = ['all/a', 'all/b'].map((key) => ({ key, value: bytes(key) }))
    const { version } = await stores.commitOk({ writes, adds: [{ key: 'all/n', delta: 1 }] })
    const versions = (await stores.store.get(['all/a', 'all/b', 'all/n'])).map((entry) => entry?.version)
    assert.deepEqual(versions, [version, version, version])
  })

  it('deletes keys, whether they exist or not', async () => {
    await stores.put('delete/a', 'x')
    await stores.commitOk({ writes: ['delete/a', 'delete/none'].map((key) => ({ key, value: null })) })
    assert.deepEqual(await stores.store.get(['delete/a', 'delete/none']), [undefined, undefined])
    assert.deepEqual(await stores.listBelow('delete/'), [])
  })

  it('applies nothing when a check fails, and names every conflict', async () => {
    const version = await stores.put('atomic/there', 'x')
    const size = await stores.store.logSize()
    const result = await stores.store.commit({
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
      append: logAppends(9_000_000, 1),
    })
    assert.ok(!result.ok)
    assert.deepEqual([...result.conflicts].sort(), ['atomic/counter', 'atomic/there', 'atomic/there2'])
    assert.deepEqual((await stores.listBelow('atomic/')).map(text), ['x'])
    assert.equal(await stores.store.logSize(), size)
    assert.deepEqual(await stores.store.positionsOf([logEntries(9_000_000, 1)]), [undefined])
  })

  it('accepts a commit that changes nothing', async () => {
    const version = await stores.put('only/check', 'x')
    assert.ok((await stores.store.commit({ checks: [{ key: 'only/check', version }] })).ok)
    assert.ok(!(await stores.store.commit({ checks: [{ key: 'only/check', version: null }] })).ok)
    assert.ok((await stores.store.commit({})).ok)
    assert.equal((await stores.getOne('only/check'))?.version, version)
  })
}

/** Tests of values: any bytes, which the store copies. */
function testValues(stores: RecordStorePair): void {
  it('stores values of any bytes and size', async () => {
    const everyByte = new Uint8Array(256).map((_, i) => i)
    const values = [new Uint8Array(), Uint8Array.of(0), everyByte, new Uint8Array(300_000).fill(7)]
    await stores.commitOk({ writes: values.map((value, i) => ({ key: `size/${i}`, value })) })
    const actual = await stores.store.get(values.map((_, i) => `size/${i}`))
    const shown = actual.map((entry) => entry && new Uint8Array(entry.value))
    assert.deepEqual(shown, values)
  })

  it('copies bytes, so that callers may change those that they gave or received', async () => {
    const value = bytes('mine')
    await stores.commitOk({ writes: [{ key: 'own/a', value }] })
    value.fill(0)
    const first = await stores.getOne('own/a')
    assert.equal(text(first), 'mine')
    first?.value.fill(0)
    const [listed] = await stores.listBelow('own/')
    assert.equal(text(listed), 'mine')
    listed?.value.fill(0)
    assert.equal(text(await stores.getOne('own/a')), 'mine')
  })
}

/** Tests of commits that are not valid. */
function testInvalidCommits(stores: RecordStorePair): void {
  it('rejects invalid commits and changes nothing', async () => {
    const value = bytes('x')
    const wrong: Commit[] = [
      { writes: [1, 2].map(() => ({ key: 'wrong/twice', value })) },
      { writes: [{ key: 'wrong/both', value }], adds: [{ key: 'wrong/both', delta: 1 }] },
      { adds: [{ key: 'wrong/delta', delta: 0.5 }] },
      { adds: [{ key: 'wrong/delta', delta: 2 ** 53 }] },
      { append: [{ entry: new Uint8Array(31), payload: value }] },
      { append: [{ entry: new Uint8Array(32), payload: new Uint8Array() }] },
      { append: [{ entry: new Uint8Array(32), payload: new Uint8Array(16_385) }] },
      ...['', 'wrong/\0', 'wrong/é', `wrong/${'x'.repeat(2048)}`].map((key) => ({ writes: [{ key, value }] })),
      { checks: [{ key: '\x01', version: null }] },
    ]
    for (const commit of wrong) {
      await assert.rejects(
        () => stores.store.commit({ ...commit, writes: [...(commit.writes ?? []), { key: 'wrong/other', value }] }),
        (error) => error instanceof TypeError || error instanceof RangeError,
      )
    }
    assert.deepEqual(await stores.listBelow('wrong/'), [])
    const longest = 'x'.repeat(2048)
    await stores.put(longest, 'x')
    assert.equal(text(await stores.getOne(longest)), 'x')
    await stores.put(longest, null)
  })
}

/** Tests of counters. */
export function testCounters(stores: RecordStorePair): void {
  const add = (key: string, delta: number) => stores.commitOk({ adds: [{ key, delta }] })

  describe('counters', () => {
    it('counts from 0, up and down, as 8 bytes two’s complement', async () => {
      await add('count/a', 5)
      assert.equal(counter(await stores.getOne('count/a')), 5n)
      await add('count/a', -8)
      const minusThree = Uint8Array.of(255, 255, 255, 255, 255, 255, 255, 253)
      assert.deepEqual(new Uint8Array((await stores.getOne('count/a'))?.value ?? []), minusThree)
      await add('count/a', Number.MAX_SAFE_INTEGER)
      await add('count/a', Number.MAX_SAFE_INTEGER)
      assert.equal(counter(await stores.getOne('count/a')), 2n * BigInt(Number.MAX_SAFE_INTEGER) - 3n)
    })

    it('is a record like any other: listed, checked, deleted', async () => {
      const { version } = await add('count/b', 1)
      assert.deepEqual((await stores.listAll({ gte: 'count/b', lt: 'count/c' })).map(counter), [1n])
      const guarded: Commit = { checks: [{ key: 'count/b', version }], adds: [{ key: 'count/b', delta: 1 }] }
      const second = await stores.commitOk(guarded)
      assert.deepEqual(await stores.store.commit(guarded), { ok: false, conflicts: ['count/b'] })
      const third = await add('count/b', 0)
      assert.notEqual(third.version, second.version)
      await stores.put('count/b', null)
      await add('count/b', 7)
      assert.equal(counter(await stores.getOne('count/b')), 7n)
    })

    it('rejects an add to a record that is not a counter, without effect on other commits', async () => {
      await stores.put('count/text', 'text')
      const writes = [{ key: 'count/x', value: bytes('x') }]
      const [invalid, valid] = await Promise.allSettled([
        stores.store.commit({ writes, adds: [{ key: 'count/text', delta: 1 }] }),
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
