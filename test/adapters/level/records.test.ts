import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { MemoryLevel } from 'memory-level'
import { LevelRecords, openLevelRecords } from '../../../adapters/level/index.ts'
import { recordStoreContract, type OpenedRecordStore } from '../../../adapters/kit/contract/index.ts'

const memoryLevel = () => new MemoryLevel<string, Uint8Array>({ keyEncoding: 'utf8', valueEncoding: 'view' })

async function openMemoryLevel(db = memoryLevel()): Promise<OpenedRecordStore> {
  return { store: await LevelRecords.open(db), reopen: () => openMemoryLevel(db) }
}

recordStoreContract('level over memory-level', () => openMemoryLevel())

const directories: string[] = []
after(async () => {
  for (const directory of directories) await rm(directory, { recursive: true })
})

async function openOnDisk(directory: string): Promise<OpenedRecordStore> {
  return { store: await openLevelRecords(directory), reopen: () => openOnDisk(directory) }
}

recordStoreContract('level over classic-level', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'er-level-'))
  directories.push(directory)
  return openOnDisk(directory)
})
