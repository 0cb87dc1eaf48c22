import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Level } from 'level'
import { MemoryLevel } from 'memory-level'
import { LevelRecords, openLevelRecords, type LevelDatabase } from '../../../adapters/level/index.ts'
import {
  logAppends,
  recordSnapshotContract,
  recordStoreContract,
  type OpenedRecordStore,
} from '../../contract/index.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'

const ENCODING = { keyEncoding: 'utf8', valueEncoding: 'view' } as const
const memoryLevel = () => new MemoryLevel<string, Uint8Array>(ENCODING)

/** Changes the last byte of a stored value. */
async function damageIn(db: LevelDatabase, key: string): Promise<void> {
  await db.open()
  const stored = await db.get<string, Uint8Array>(key, ENCODING)
  assert.ok(stored)
  const damaged = new Uint8Array(stored)
  damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 1
  await db.put<string, Uint8Array>(key, damaged, ENCODING)
  await db.close()
}

async function openMemoryLevel(db = memoryLevel()): Promise<OpenedRecordStore> {
  return {
    store: await LevelRecords.open(db),
    reopen: () => openMemoryLevel(db),
    damage: (key) => damageIn(db, key),
  }
}

recordStoreContract('level over memory-level', () => openMemoryLevel())

describe('the record store on LevelDB', () => {
  const root = temporaryOfSuite()

  async function openOnDisk(directory: string): Promise<OpenedRecordStore> {
    return {
      store: await openLevelRecords(directory),
      reopen: () => openOnDisk(directory),
      damage: (key) => damageIn(new Level<string, Uint8Array>(join(directory, 'db'), ENCODING), key),
    }
  }

  const newDirectory = (): string => join(root, randomUUID())

  recordStoreContract('level over classic-level', async () => openOnDisk(newDirectory()))

  it('reads one payload as it reads many: of a finished block, and of the last one while it grows', async () => {
    const { store } = await openOnDisk(newDirectory())
    let size = 0
    for (const count of [1, 200, 60, 300, 3]) {
      const { ok } = await store.commit({ append: logAppends(size, count) })
      assert.ok(ok)
      size += count
      const all = await store.readPayloads(0, size)
      // The second time, the row of a finished block may be cached.
      for (let time = 1; time <= 2; time += 1)
        for (const [position, payload] of all.entries())
          assert.deepEqual(await store.readPayloads(position, 1), [payload], `${position} of ${size}`)
      assert.deepEqual(await store.readPayloads(size, 1), [])
    }
    await store.close()
  })

  recordSnapshotContract('level over memory-level', () => LevelRecords.open(memoryLevel()))
  recordSnapshotContract('level over classic-level', async () => openLevelRecords(newDirectory()))
})
