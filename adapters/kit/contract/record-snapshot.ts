import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RecordSnapshot, RecordStore, SnapshotSource } from '../index.ts'
import { appendsOf, bytes, logEntries } from './record-store-pair.ts'

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
      await assert.rejects(empty.logSize(), { code: 'CLOSED' })
      await assert.rejects(empty.readLog(0, 1), { code: 'CLOSED' })
      await empty.close()
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
