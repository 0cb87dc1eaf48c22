import { join } from 'node:path'
import { openLevelRecords } from '../../adapters/level/index.ts'
import type { RecordStore, TreeEngine } from '../../core/index.ts'
import { PoolEngine } from '../../sealer/index.ts'
import { randomAppends } from './log-appends.ts'
import { openIn } from './registry.ts'

/** Entries of a full batch. */
export const BATCH_SIZE = 65_536

/** Longer than any benchmark, so that no batch closes because of its age. */
const HOUR_MS = 3_600_000

export interface SealingRegistry {
  readonly directory: string
  readonly records: RecordStore
  readonly engine?: TreeEngine
}

/** Opens a registry that seals batches of 65,536 entries. By default, none closes because of its age. */
export const openSealingRegistry = ({ directory, records, engine = new PoolEngine() }: SealingRegistry) =>
  openIn(directory, records, { engine, maxWaitMs: HOUR_MS, maxLeaves: BATCH_SIZE })

/** Appends random entries to the log of a new registry, up to this log size, and seals none. */
export async function fillBacklog(directory: string, logSize: number): Promise<void> {
  const records = await openLevelRecords(join(directory, 'records'))
  const registry = await openSealingRegistry({ directory, records })
  for (let left = logSize - (await records.logSize()); left > 0; left -= BATCH_SIZE)
    await records.commit({ append: randomAppends(Math.min(left, BATCH_SIZE)) })
  await registry.close()
}
