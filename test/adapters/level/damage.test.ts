import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MemoryLevel } from 'memory-level'
import { LevelRecords } from '../../../adapters/level/index.ts'
import { HEAD_KEY } from '../../../adapters/level/layout.ts'
import { BY_BYTES } from '../../support/level-bytes.ts'
import { flipsOf, resultsOf, SMALL_STORE } from '../../support/store-contents.ts'

const memoryLevel = () => new MemoryLevel<string, Uint8Array>({ keyEncoding: 'utf8', valueEncoding: 'view' })

describe('damage to a stored value', () => {
  it('is CORRUPT with an error line, whichever byte of whichever value it is, and never another result', async () => {
    const db = memoryLevel()
    let lines = 0
    const store = await LevelRecords.open(db, { logger: { error: () => (lines += 1) } })
    for (const commit of SMALL_STORE) assert.ok((await store.commit(commit)).ok)
    const sound = await resultsOf(store)
    assert.equal(lines, 0)
    const stored = await db.iterator<Uint8Array, Uint8Array>(BY_BYTES).all()
    // Head, 2 rows of each kind, 5 positions, 3 records.
    assert.equal(stored.length, 13)
    for (const [key, value] of stored) {
      for (const damaged of flipsOf(value)) {
        await db.put(key, damaged, BY_BYTES)
        lines = 0
        // A new store, because one caches what it has read.
        const reader = await LevelRecords.open(db, { logger: { error: () => (lines += 1) } }).catch(
          (error: unknown) => error as { readonly code: string },
        )
        const name = `${Buffer.from(key).toString('latin1')}: ${Buffer.from(damaged).toString('hex')}`
        if (!(reader instanceof LevelRecords)) {
          // A head whose format byte was changed can look like that of a newer version.
          const isHead = Buffer.from(key).toString('latin1') === HEAD_KEY
          assert.ok(reader.code === 'CORRUPT' || (isHead && reader.code === 'CONFIG_ERROR'), name)
          // The failed open closed it.
          await db.open()
          continue
        }
        const results = await resultsOf(reader)
        const wrong = [...results].filter(([read, result]) => result !== sound.get(read))
        assert.ok(wrong.length > 0, `${name} was not noticed`)
        for (const [read, result] of wrong) assert.equal(result, 'CORRUPT', `${read} with ${name}`)
        assert.equal(lines, wrong.length, name)
      }
      await db.put(key, value, BY_BYTES)
    }
    assert.deepEqual(await resultsOf(store), sound)
    await store.close()
  })

  it('is CORRUPT if the value of one key is stored under another', async () => {
    const db = memoryLevel()
    const store = await LevelRecords.open(db)
    for (const commit of SMALL_STORE) await store.commit(commit)
    const value = await db.get('a/1')
    assert.ok(value)
    await db.put('a/2', value)
    await assert.rejects(store.get(['a/2']), { code: 'CORRUPT' })
    await store.close()
  })
})

describe('a store that cannot be opened', () => {
  it('leaves its database closed', async () => {
    const empty = memoryLevel()
    await assert.rejects(LevelRecords.open(empty, { mustExist: true }), { code: 'CORRUPT' })
    assert.equal(empty.status, 'closed')
    const other = memoryLevel()
    await other.put('a/1', new Uint8Array(1))
    await assert.rejects(LevelRecords.open(other), { code: 'CORRUPT' })
    assert.equal(other.status, 'closed')
  })
})
