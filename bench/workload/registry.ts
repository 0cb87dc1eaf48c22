import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FileSignedHead, openLocalBlobs } from '../../adapters/files/index.ts'
import { MemoryCheckpointKeys } from '../../adapters/memory/index.ts'
import { openLevelRecords } from '../../adapters/level/index.ts'
import { OPERATOR, openRegistry, type RecordStore, type Registry, type Scope } from '../../core/index.ts'
import { createSealer, type SealerOptions } from '../../sealer/index.ts'
import { CATEGORY_COUNT, categoryName, categoryOf, evidenceOf } from './evidence.ts'
import { writingWith, type Writer } from './writing.ts'

export interface BenchRegistry {
  readonly registry: Registry
  readonly records: RecordStore
  readonly scope: Scope
  /** The folder of its files. A benchmark may add its own. */
  readonly directory: string
  close(): Promise<void>
}

export interface BenchRegistryOptions extends SealerOptions {
  /** Other records instead of LevelDB. */
  readonly records?: RecordStore
  readonly wrap?: (records: RecordStore) => RecordStore
  /** A folder that stays, and may have a registry. Default: a new one. */
  readonly directory?: string
}

/** The ids of a category and of its subcategory. */
export type CategoryIds = readonly [categoryId: string, subcategoryId: string]

/**
 * Opens a registry on LevelDB (synced) or on other records, with local files below TMPDIR, which must be on a real
 * disk. `close` removes the files.
 */
export async function openBenchRegistry({
  records: other,
  wrap = (records) => records,
  directory: kept,
  ...options
}: BenchRegistryOptions = {}): Promise<BenchRegistry> {
  const directory = kept ?? (await mkdtemp(join(tmpdir(), 'evidence-bench-')))
  const records = wrap(other ?? (await openLevelRecords(join(directory, 'records'))))
  const registry = await openIn(directory, records, options)
  const operator: Scope = { companyId: 'bench', principal: OPERATOR }
  const { apiKey = '' } = await registry.sourceSystems.create(operator, { name: `bench ${randomUUID()}` })
  const principal = await registry.sourceSystems.authenticate({ companyId: 'bench', apiKey })
  if (principal === undefined) throw new Error('the key of a new source system was rejected')
  return {
    registry,
    records,
    scope: { companyId: 'bench', principal },
    directory,
    async close() {
      await registry.close()
      if (kept === undefined) await rm(directory, { recursive: true })
    },
  }
}

/** Opens a registry on these records, with its other files in a folder. */
export const openIn = async (directory: string, records: RecordStore, options: SealerOptions): Promise<Registry> =>
  openRegistry({
    records,
    blobs: await openLocalBlobs(join(directory, 'blobs')),
    signedHead: new FileSignedHead(join(directory, 'signed-head.json')),
    secret: new Uint8Array(32).fill(1),
    checkpointSigner: new MemoryCheckpointKeys([new Uint8Array(32).fill(1)]),
    sealer: createSealer(options),
  })

/** Creates the categories that `categoryOf` names. */
export async function createCategories({ registry, scope }: BenchRegistry): Promise<readonly CategoryIds[]> {
  const categories: CategoryIds[] = []
  for (let i = 0; i < CATEGORY_COUNT; i++) {
    const category = await registry.categories.create(scope, { name: categoryName(i) })
    const subcategory = await registry.categories.create(scope, { name: 'All' }, { parent: category.id })
    categories.push([category.id, subcategory.id])
  }
  return categories
}

/** Creates evidences with rising numbers, one by one or in bulk. */
export class EvidenceCreator {
  readonly #bench: BenchRegistry
  /** How many were created. The next one has this number. */
  count: number

  constructor(bench: BenchRegistry, count = 0) {
    this.#bench = bench
    this.count = count
  }

  createOne() {
    const { registry, scope } = this.#bench
    const index = this.count++
    return registry.evidences.create(scope, { ...categoryOf(index), ...evidenceOf(index) })
  }

  createMany([categoryId, subcategoryId]: CategoryIds, size: number) {
    const { registry, scope } = this.#bench
    const evidences = Array.from({ length: size }, () => evidenceOf(this.count++))
    return registry.evidences.createMany(scope, { categoryId, subcategoryId, evidences })
  }

  /** Creates them one by one, or in bulk in this category. */
  writerTo(category: CategoryIds): Writer['write'] {
    return writingWith((size) => (size === 1 ? this.createOne() : this.createMany(category, size)))
  }
}
