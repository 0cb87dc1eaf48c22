import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isRegistryError, type Entry, type RecordStore } from '../index.ts'
import { bytes, counter, listAll, text, type OpenedRecordStore } from './record-store-pair.ts'

const RECORD = 'damage/record'
const COUNTER = 'damage/counter'

/** Tests that a damaged stored value is never returned and never changed into another one, but is `CORRUPT`. */
export function testDamage(open: () => Promise<OpenedRecordStore>): void {
  it('rejects a damaged stored value as CORRUPT, and returns the others', async (t) => {
    for (const key of [RECORD, COUNTER]) {
      const { store, peer, damage, reopen } = await open()
      if (damage === undefined || reopen === undefined) {
        await store.close()
        await peer?.close()
        t.diagnostic('not tested: `open` returned no `damage`')
        return
      }
      const written = await store.commit({
        writes: [{ key: RECORD, value: bytes('as it was written') }],
        adds: [{ key: COUNTER, delta: 258 }],
      })
      assert.ok(written.ok)
      await store.close()
      await peer?.close()
      await damage(key)
      await assertDamaged(reopen, key)
    }
  })
}

/** A store may detect the damage when it is opened, or when it reads the value. */
async function assertDamaged(reopen: () => Promise<OpenedRecordStore>, key: string): Promise<void> {
  const opened = await reopen().catch((error: unknown) => assertCorrupt(error))
  if (opened === true) return
  const { store, peer } = opened
  const other = key === RECORD ? COUNTER : RECORD
  await assert.rejects(store.get([key]), assertCorrupt)
  await assert.rejects(store.get([other, key]), assertCorrupt)
  await assert.rejects(listAll(store, { gte: 'damage/', lt: 'damage0' }), assertCorrupt)
  await assert.rejects(store.commit({ checks: [{ key, version: null }] }), assertCorrupt)
  await assert.rejects(store.commit({ adds: [{ key, delta: 1 }] }), assertCorrupt)
  await assert.rejects(store.get([key]), assertCorrupt)
  const [sound] = await store.get([other])
  assert.deepEqual(contentOf(sound), other === RECORD ? 'as it was written' : 258n)
  await assertWritable(store, key)
  await store.close()
  await peer?.close()
}

/** A repair may overwrite the value. */
async function assertWritable(store: RecordStore, key: string): Promise<void> {
  const repaired = await store.commit({ writes: [{ key, value: bytes('repaired') }] })
  assert.ok(repaired.ok)
  assert.equal(text((await store.get([key]))[0]), 'repaired')
}

const contentOf = (entry: Entry | undefined) => (entry?.key === COUNTER ? counter(entry) : text(entry))

function assertCorrupt(error: unknown): true {
  assert.ok(isRegistryError(error, 'CORRUPT'), `expected CORRUPT, got ${String(error)}`)
  return true
}
