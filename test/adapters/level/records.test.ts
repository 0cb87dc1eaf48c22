import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe } from 'node:test'
import { Level } from 'level'
import { MemoryLevel } from 'memory-level'
import { LevelRecords, openLevelRecords, type LevelDatabase } from '../../../adapters/level/index.ts'
import { recordSnapshotContract, recordStoreContract, type OpenedRecordStore } from '../../contract/index.ts'

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
  const directories: string[] = []
  after(async () => {
    for (const directory of directories) await rm(directory, { recursive: true })
  })

  async function openOnDisk(directory: string): Promise<OpenedRecordStore> {
    return {
      store: await openLevelRecords(directory),
      reopen: () => openOnDisk(directory),
      damage: (key) => damageIn(new Level<string, Uint8Array>(join(directory, 'db'), ENCODING), key),
    }
  }

  async function newDirectory(): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), 'er-level-'))
    directories.push(directory)
    return directory
  }

  recordStoreContract('level over classic-level', async () => openOnDisk(await newDirectory()))

  recordSnapshotContract('level over memory-level', () => LevelRecords.open(memoryLevel()))
  recordSnapshotContract('level over classic-level', async () => openLevelRecords(await newDirectory()))
})
