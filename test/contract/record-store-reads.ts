import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RecordSnapshot, RecordStore, SnapshotSource } from '../../adapters/kit/index.ts'
import { appendsOf, below, bytes, listAll, logEntries, text, type RecordStorePair } from './record-store-pair.ts'
import { assertClosed } from './rules.ts'

/** Tests of reads of several keys. */
export function testReads(stores: RecordStorePair): void {
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
    await stores.put('often/a', 'x')
    assert.deepEqual((await stores.store.get(['often/a', 'often/none', 'often/a'])).map(text), ['x', undefined, 'x'])
    assert.deepEqual(await stores.store.get([]), [])
  })
}

/** Ends of keys. Their bytewise order differs from the order of words and of paths. */
const KEY_PARTS = [' ', ...'! " % %2F \\ \\\\ - -- . .. / // 0 0a A Z _ a a-b a.b a/ a/b a0 z ~ ~~'.split(' ')]

/** Tests of lists: their order, pages, entries and ends. */
export function testListing(stores: RecordStorePair): void {
  describe('listing', () => {
    it('sorts keys bytewise, in both directions', async () => {
      const keys = KEY_PARTS.map((part) => `odd/${part}`)
      await stores.putAll([...keys].reverse())
      const sorted = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      assert.deepEqual(await stores.keysOf(below('odd/')), sorted)
      assert.deepEqual(await stores.keysOf({ ...below('odd/'), reverse: true }), [...sorted].reverse())
      assert.deepEqual(await stores.keysOf({ ...below('odd/'), keysOnly: true }), sorted)
      const some = ['odd/a', 'odd/a-b', 'odd/a.b', 'odd/a/', 'odd/a/b']
      assert.deepEqual(await stores.keysOf({ gte: 'odd/a', lt: 'odd/a0' }), some)
      assert.deepEqual(await stores.keysOf({ gte: 'odd/a', lt: 'odd/a' }), [])
      assert.deepEqual(await stores.keysOf({ gte: 'odd/z', lt: 'odd/a' }), [])
    })

    it('loses no key after the last one of a page, whatever follows it in its own bytes', async () => {
      const keys = Array.from({ length: 1400 }, (_, i) => {
        const number = String(Math.floor(i / 2)).padStart(4, '0')
        return i % 2 === 0 ? `edge/${number}A` : `edge/${number}A%20B`
      })
      for (let at = 0; at < keys.length; at += 350) await stores.putAll(keys.slice(at, at + 350))
      // From the first key on and from the second one, so that a page of any size ends with a key of either kind.
      for (const from of [0, 1])
        for (const reverse of [false, true]) {
          const expected = reverse ? keys.slice(from).reverse() : keys.slice(from)
          assert.deepEqual(await stores.keysOf({ gte: keys[from] ?? '', lt: 'edge0', reverse }), expected)
        }
    })

    it('lists thousands of keys in both directions, up to a limit', async () => {
      const keys = Array.from({ length: 1500 }, (_, i) => `page/${String(i).padStart(5, '0')}`)
      for (let at = 0; at < keys.length; at += 500) await stores.putAll(keys.slice(at, at + 500))
      for (const reverse of [false, true]) {
        const expected = reverse ? [...keys].reverse() : keys
        for (const limit of [undefined, 0, 1, 2, 127, 128, 129, 255, 256, 257, 1499, 1500, 1501]) {
          const range = { ...below('page/'), reverse, ...(limit === undefined ? {} : { limit }) }
          for (const keysOnly of [false, true])
            assert.deepEqual(
              await stores.keysOf({ ...range, keysOnly }),
              expected.slice(0, limit),
              `reverse ${reverse}, limit ${limit}, keysOnly ${keysOnly}`,
            )
        }
      }
      const from = await stores.listAll({ gte: 'page/00700', lt: 'page0', limit: 3 })
      assert.deepEqual(from.map(text), ['page/00700', 'page/00701', 'page/00702'])
    })

    it('lists the same entries that get returns, and no internal keys of the store', async () => {
      const entries = await stores.listAll({ gte: '', lt: '\x7f' })
      assert.ok(entries.length > 0)
      for (const { key } of entries) assert.match(key, /^[\x20-\x7e]+$/)
      const some = entries.slice(0, 100)
      assert.deepEqual(await stores.store.get(some.map((entry) => entry.key)), some)
    })

    it('can be ended early', async () => {
      await stores.putAll(['early/a', 'early/b', 'early/c'])
      for await (const entry of stores.store.list(below('early/'))) {
        assert.equal(entry.key, 'early/a')
        break
      }
    })
  })
}

/** Number of log entries that `fill` appends. */
const BEFORE = 700

/**
 * Tests with node:test what the port `SnapshotSource` promises.
 *
 * @param name name of the adapter, for the output
 * @param open opens a new, empty store; the suite closes it
 */
export function recordSnapshotContract(name: string, open: () => Promise<RecordStore & SnapshotSource>): void {
  describe(`SnapshotSource contract: ${name}`, () => {
    it('shows the state of the call, whatever is committed later', async () => {
      const store = await open()
      await fill(store)
      const before = await contents(store)
      assert.equal(before.records.length, 301)
      const snapshot = await store.snapshot()
      await change(store)
      assert.deepEqual(await contents(snapshot), before)
      await snapshot.close()
      const later = await store.snapshot()
      assert.deepEqual(await contents(later), await contents(store))
      await later.close()
      await store.close()
    })

    it('keeps its state between the pages of one listing', async () => {
      const store = await open()
      await fill(store)
      const snapshot = await store.snapshot()
      const values: string[] = []
      for await (const { value } of snapshot.list({ gte: 'r/', lt: 'r0' })) {
        if (values.length === 0) await change(store)
        values.push(Buffer.from(value).toString())
      }
      assert.equal(values.length, 300)
      assert.ok(values.every((value) => value.startsWith('before')))
      const reverse: string[] = []
      for await (const { key } of snapshot.list({ gte: 'r/', lt: 'r0', reverse: true, limit: 2 })) reverse.push(key)
      assert.deepEqual(reverse, ['r/99', 'r/98'])
      assert.deepEqual(new Uint8Array(await snapshot.readLog(BEFORE - 1, 5)), logEntries(BEFORE - 1, 1))
      await snapshot.close()
      await store.close()
    })

    it('can be open several times, and rejects reads after its close', async () => {
      const store = await open()
      const empty = await store.snapshot()
      await fill(store)
      const full = await store.snapshot()
      assert.deepEqual([await empty.logSize(), await full.logSize()], [0, BEFORE])
      await empty.close()
      assert.equal(await full.logSize(), BEFORE)
      await assertClosed(empty, {
        list: () => listAll(empty, { gte: 'a', lt: 'b' }),
        readLog: () => empty.readLog(0, 1),
        readPayloads: () => empty.readPayloads(0, 1),
        logSize: () => empty.logSize(),
      })
      await full.close()
      await store.close()
      await assert.rejects(store.snapshot(), { code: 'CLOSED' })
    })
  })
}

async function fill(store: RecordStore): Promise<void> {
  await store.commit({ append: appendsOf(logEntries(0, BEFORE)) })
  for (let n = 0; n < 300; n += 1) await store.commit({ writes: [{ key: `r/${n}`, value: bytes(`before ${n}`) }] })
  await store.commit({ adds: [{ key: 'n', delta: 5 }] })
}

async function change(store: RecordStore): Promise<void> {
  await store.commit({
    writes: [
      { key: 'r/0', value: bytes('after') },
      { key: 'r/299', value: null },
      { key: 'r/new', value: bytes('after') },
    ],
    adds: [{ key: 'n', delta: 1 }],
    append: appendsOf(logEntries(BEFORE, 400)),
  })
}

/** Everything that a snapshot or a store holds. */
async function contents(store: RecordSnapshot) {
  const records: string[] = []
  for await (const { key, value } of store.list({ gte: ' ', lt: '\x7f' }))
    records.push(`${key} ${Buffer.from(value).toString('hex')}`)
  const size = await store.logSize()
  const payloads = (await store.readPayloads(0, size + 10)).map((payload) => Buffer.from(payload).toString('hex'))
  return { records, size, log: Buffer.from(await store.readLog(0, size + 10)).toString('hex'), payloads }
}
