import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FileSignedHead, openLocalBlobs } from '../../adapters/files/index.ts'
import { openLevelRecords } from '../../adapters/level/index.ts'
import { OPERATOR, openRegistry, type RecordStore, type Registry, type Scope } from '../../core/index.ts'
import { createSealer, type SealerOptions } from '../../sealer/index.ts'

export interface BenchRegistry {
  readonly registry: Registry
  readonly records: RecordStore
  readonly scope: Scope
  /** Of its files; there is room for others beside them. */
  readonly directory: string
  close(): Promise<void>
}

export interface BenchRegistryOptions extends SealerOptions {
  /** Other records in place of LevelDB. */
  readonly records?: RecordStore
  readonly wrap?: (records: RecordStore) => RecordStore
}

/** A registry on LevelDB (synced) or on other records, and local files below TMPDIR, which must be a real disk; gone after `close`. */
export async function openBenchRegistry({
  records: other,
  wrap = (records) => records,
  ...options
}: BenchRegistryOptions = {}): Promise<BenchRegistry> {
  const directory = await mkdtemp(join(tmpdir(), 'evidence-bench-'))
  const records = wrap(other ?? (await openLevelRecords(join(directory, 'records'))))
  const registry = await openRegistry({
    records,
    blobs: await openLocalBlobs(join(directory, 'blobs')),
    signedHead: new FileSignedHead(join(directory, 'signed-head.json')),
    secret: new Uint8Array(32).fill(1),
    sealer: createSealer(options),
  })
  const operator: Scope = { companyId: 'bench', principal: OPERATOR }
  const { id } = await registry.sourceSystems.create(operator, { name: 'bench' })
  return {
    registry,
    records,
    scope: { companyId: 'bench', principal: { kind: 'sourceSystem', id, permissions: 'U' } },
    directory,
    async close() {
      await registry.close()
      await rm(directory, { recursive: true })
    },
  }
}

const CATEGORIES = 10

/** Every category's name with that of its one subcategory, made in this order: `placeOf` of an index is one of them. */
export async function makePlaces({ registry, scope }: BenchRegistry): Promise<readonly [string, string][]> {
  const places: [string, string][] = []
  for (let i = 0; i < CATEGORIES; i++) {
    const category = await registry.categories.create(scope, { name: `Category ${i}` })
    const subcategory = await registry.categories.createSubcategory(scope, category.id, { name: 'All' })
    places.push([category.id, subcategory.id])
  }
  return places
}

/** Of an evidence by its number, by name as a caller without ids would. */
export const placeOf = (index: number) => ({
  categoryName: `Category ${index % CATEGORIES}`,
  subcategoryName: 'All',
})

/** An evidence of ordinary size: five values set, a meta of two. */
export const evidenceOf = (index: number) => ({
  externalId: `item ${index}`,
  name: `Item ${index}`,
  owner: 'Ada',
  description: 'A thing of which there are many, described in one line of ordinary length',
  meta: { serial: index, colour: 'grey' },
})

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
