import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FileSignedHead, openLocalBlobs } from '../adapters/files/index.ts'
import { openLevelRecords } from '../adapters/level/index.ts'
import { OPERATOR, openRegistry, type Registry, type Scope } from '../core/index.ts'
import type { RecordStore } from '../core/ports.ts'
import { createSealer, type SealerOptions } from '../sealer/index.ts'

export interface BenchRegistry {
  readonly registry: Registry
  readonly records: RecordStore
  readonly scope: Scope
  close(): Promise<void>
}

/** A registry on LevelDB (synced) or on other records, and local files below TMPDIR, which must be a real disk; gone after `close`. */
export async function openBenchRegistry(options: SealerOptions = {}, other?: RecordStore): Promise<BenchRegistry> {
  const directory = await mkdtemp(join(tmpdir(), 'evidence-bench-'))
  const records = other ?? (await openLevelRecords(join(directory, 'records')))
  const registry = await openRegistry({
    records,
    blobs: await openLocalBlobs(join(directory, 'blobs')),
    signedHead: new FileSignedHead(join(directory, 'signed-head.json')),
    secret: new Uint8Array(32).fill(1),
    sealer: createSealer(options),
  })
  const scope: Scope = { companyId: 'bench', principal: OPERATOR }
  await registry.sourceSystems.create(scope, { name: 'bench' })
  return {
    registry,
    records,
    scope,
    async close() {
      await registry.close()
      await rm(directory, { recursive: true })
    },
  }
}

/** Runs `work` for 0 to count - 1, so many at a time, and answers the seconds it took. */
export async function inFlight(
  count: number,
  width: number,
  work: (index: number) => Promise<unknown>,
): Promise<number> {
  const begun = performance.now()
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: width }, lane))
  return (performance.now() - begun) / 1_000
}
