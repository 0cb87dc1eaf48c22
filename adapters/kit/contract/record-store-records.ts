import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Commit, Version } from '../index.ts'
import { bytes, text, UNKNOWN_VERSION, logEntries, type RecordStorePair, logAppends } from './record-store-pair.ts'

/** Tests of records: writes, checks, deletions, values and reads. */
export function testRecords(stores: RecordStorePair): void {
  describe('records', () => {
    testVersionChecks(stores)
    testCommits(stores)
    testValues(stores)
    testInvalidCommits(stores)
    testReads(stores)
  })
}

/** Tests of checks: each write assigns another version. */
function testVersionChecks(stores: RecordStorePair): void {
  it('creates a key once', async () => {
    const create = (value: string): Commit => ({
      checks: [{ key: 'create/a', version: null }],
      writes: [{ key: 'create/a', value: bytes(value) }],
    })
    const { version } = await stores.commitOk(create('first'))
    assert.deepEqual(await stores.store.commit(create('second')), { ok: false, conflicts: ['create/a'] })
    const entry = await stores.getOne('create/a')
    assert.equal(text(entry), 'first')
    assert.equal(entry?.version, version)
    assert.equal(entry?.key, 'create/a')
  })

  it('replaces only the checked version', async () => {
    const put = (value: string, version: Version | null): Commit => ({
      checks: [{ key: 'replace/a', version }],
      writes: [{ key: 'replace/a', value: bytes(value) }],
    })
    const first = await stores.commitOk(put('1', null))
    const second = await stores.commitOk(put('2', first.version))
    assert.notEqual(second.version, first.version)
    assert.equal((await stores.store.commit(put('3', first.version))).ok, false)
    assert.equal((await stores.store.commit(put('3', null))).ok, false)
    assert.equal(text(await stores.getOne('replace/a')), '2')
  })

  it('never uses a version twice, not even after a deletion', async () => {
    const seen = new Set<Version>()
    for (let i = 0; i < 5; i += 1) {
      seen.add((await stores.commitOk({ writes: [{ key: 'again/a', value: bytes('same') }] })).version)
      await stores.commitOk({ writes: [{ key: 'again/a', value: null }] })
    }
    assert.equal(seen.size, 5)
    for (const version of seen) {
      const stale = await stores.store.commit({
        checks: [{ key: 'again/a', version }],
        writes: [{ key: 'again/b', value: bytes('') }],
      })
      assert.equal(stale.ok, false)
    }
  })
}

/** Tests of what a commit changes: all of its keys, with one version, or nothing. */
function testCommits(stores: RecordStorePair): void {
  it('assigns one version to all keys of a commit', async () => {
    const writes = ['all/a', 'all/b'].map((key) => ({ key, value: bytes(key) }))
    const { version } = await stores.commitOk({ writes, adds: [{ key: 'all/n', delta: 1 }] })
    const entries = await stores.store.get(['all/a', 'all/b', 'all/n'])
    assert.deepEqual(
      entries.map((entry) => entry?.version),
      [version, version, version],
    )
  })

  it('deletes keys, whether they exist or not', async () => {
    await stores.commitOk({ writes: [{ key: 'delete/a', value: bytes('x') }] })
    await stores.commitOk({
      writes: [
        { key: 'delete/a', value: null },
        { key: 'delete/none', value: null },
      ],
    })
    assert.deepEqual(await stores.store.get(['delete/a', 'delete/none']), [undefined, undefined])
    assert.deepEqual(await stores.listAll({ gte: 'delete/', lt: 'delete0' }), [])
  })

  it('applies nothing when a check fails, and names every conflict', async () => {
    const { version } = await stores.commitOk({ writes: [{ key: 'atomic/there', value: bytes('x') }] })
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
    assert.deepEqual((await stores.listAll({ gte: 'atomic/', lt: 'atomic0' })).map(text), ['x'])
    assert.equal(await stores.store.logSize(), size)
    assert.deepEqual(await stores.store.positionsOf([logEntries(9_000_000, 1)]), [undefined])
  })

  it('accepts a commit that changes nothing', async () => {
    const { version } = await stores.commitOk({ writes: [{ key: 'only/check', value: bytes('x') }] })
    assert.ok((await stores.store.commit({ checks: [{ key: 'only/check', version }] })).ok)
    assert.ok(!(await stores.store.commit({ checks: [{ key: 'only/check', version: null }] })).ok)
    assert.ok((await stores.store.commit({})).ok)
    assert.equal((await stores.getOne('only/check'))?.version, version)
  })
}

/** Tests of values: any bytes, which the store copies. */
function testValues(stores: RecordStorePair): void {
  it('stores values of any bytes and size', async () => {
    const values = [
      new Uint8Array(),
      Uint8Array.of(0),
      new Uint8Array(256).map((_, i) => i),
      new Uint8Array(300_000).fill(7),
    ]
    await stores.commitOk({ writes: values.map((value, i) => ({ key: `size/${i}`, value })) })
    const actual = await stores.store.get(values.map((_, i) => `size/${i}`))
    assert.deepEqual(
      actual.map((entry) => entry && new Uint8Array(entry.value)),
      values,
    )
  })

  it('copies bytes, so that callers may change those that they gave or received', async () => {
    const value = bytes('mine')
    await stores.commitOk({ writes: [{ key: 'own/a', value }] })
    value.fill(0)
    const first = await stores.getOne('own/a')
    assert.equal(text(first), 'mine')
    first?.value.fill(0)
    const [listed] = await stores.listAll({ gte: 'own/a', lt: 'own/b' })
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
      { writes: [{ key: '', value }] },
      { writes: [{ key: 'wrong/\0', value }] },
      { writes: [{ key: 'wrong/é', value }] },
      { writes: [{ key: `wrong/${'x'.repeat(2048)}`, value }] },
      { checks: [{ key: '\x01', version: null }] },
    ]
    for (const commit of wrong) {
      await assert.rejects(
        () => stores.store.commit({ ...commit, writes: [...(commit.writes ?? []), { key: 'wrong/other', value }] }),
        (error) => error instanceof TypeError || error instanceof RangeError,
      )
    }
    assert.deepEqual(await stores.listAll({ gte: 'wrong/', lt: 'wrong0' }), [])
    const longest = 'x'.repeat(2048)
    await stores.commitOk({ writes: [{ key: longest, value }] })
    assert.equal(text(await stores.getOne(longest)), 'x')
    await stores.commitOk({ writes: [{ key: longest, value: null }] })
  })
}

/** Tests of reads of several keys. */
function testReads(stores: RecordStorePair): void {
  it('reads one snapshot', async () => {
    const keys = Array.from({ length: 20 }, (_, i) => `snap/${i}`)
    let isDone = false
    const writer = (async () => {
      for (let i = 0; i < 50; i += 1)
        await stores.commitOk({ writes: keys.map((key) => ({ key, value: bytes(String(i)) })) })
      isDone = true
    })()
    let reads = 0
    while (!isDone) {
      const values = (await stores.peer.get(keys)).map(text)
      assert.equal(new Set(values).size, 1, `torn read: ${values.join()}`)
      reads += 1
      await new Promise(setImmediate)
    }
    await writer
    assert.ok(reads > 0)
  })

  it('returns a key as often as it is requested', async () => {
    await stores.commitOk({ writes: [{ key: 'often/a', value: bytes('x') }] })
    assert.deepEqual((await stores.store.get(['often/a', 'often/none', 'often/a'])).map(text), ['x', undefined, 'x'])
    assert.deepEqual(await stores.store.get([]), [])
  })
}
