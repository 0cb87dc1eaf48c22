import { join } from 'node:path'
import { FileSignedHead, openLocalBlobs } from '../../adapters/files/index.ts'
import { MemoryCheckpointKeys } from '../../adapters/memory/index.ts'
import { openLevelRecords } from '../../adapters/level/index.ts'
import { openRegistry, type RecordStore, type Registry, type TreeEngine } from '../../core/index.ts'
import { createSealer, PoolEngine } from '../../sealer/index.ts'
import { randomAppends } from './log-appends.ts'

/** Entries of a full batch. */
export const BATCH_SIZE = 65_536

/** Longer than any benchmark, so that no batch closes because of its age. */
export const HOUR_MS = 3_600_000

export interface SealingRegistry {
  readonly directory: string
  readonly records: RecordStore
  readonly engine?: TreeEngine
  readonly maxWaitMs?: number
}

/** Opens a registry that seals batches of 65,536 entries. By default, none closes because of its age. */
export async function openSealingRegistry({
  directory,
  records,
  engine = new PoolEngine(),
  maxWaitMs = HOUR_MS,
}: SealingRegistry): Promise<Registry> {
  return openRegistry({
    records,
    blobs: await openLocalBlobs(join(directory, 'blobs')),
    signedHead: new FileSignedHead(join(directory, 'signed-head.json')),
    secret: new Uint8Array(32).fill(1),
    checkpointSigner: new MemoryCheckpointKeys([new Uint8Array(32).fill(1)]),
    sealer: createSealer({ engine, maxWaitMs, maxLeaves: BATCH_SIZE }),
  })
}

/** Appends random entries to the log of a new registry, up to this log size, and seals none. */
export async function fillBacklog(directory: string, logSize: number): Promise<void> {
  const records = await openLevelRecords(join(directory, 'records'))
  const registry = await openSealingRegistry({ directory, records })
  for (let left = logSize - (await records.logSize()); left > 0; left -= BATCH_SIZE)
    await records.commit({ append: randomAppends(Math.min(left, BATCH_SIZE)) })
  await registry.close()
}
