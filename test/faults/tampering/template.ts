import { cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { OPERATOR, type Registry, type Scope, type StagedFile } from '../../../core/index.ts'
import { generateCheckpointKey } from '../../../adapters/files/index.ts'
import { openConfiguredRegistry } from '../../../server/startup/registry.ts'
import { eventually } from '../../support/eventually.ts'
import { silentLogger } from '../../support/silent-logger.ts'
import { checkConfig } from '../workload/check.ts'
import { storedRows } from './database.ts'

/** The data directories that every case starts from. */
export interface Template {
  /** The directory that is copied and then changed. */
  readonly newest: string
  /** A copy of it from before the last batches, with an older checkpoint key. */
  readonly earlier: string
  /** The data directory of another registry. */
  readonly foreign: string
  /** The rows of the records in `earlier` by key. */
  readonly earlierRows: ReadonlyMap<string, Uint8Array>
}

export const COMPANIES = ['acme', 'beta'] as const

/**
 * Creates the directories below `root`.
 *
 * @param bulk - how many more evidences there are with one event each. With 250 the log fills a tile
 */
export async function createTemplate(root: string, bulk: number): Promise<Template> {
  const [newest, earlier, foreign] = [join(root, 'newest'), join(root, 'earlier'), join(root, 'foreign')]
  await mkdir(root, { recursive: true })
  await withRegistry(newest, async (registry) => {
    await writeFirstHistories(registry, bulk)
    await untilAnchored(registry)
  })
  await cp(newest, earlier, { recursive: true })
  await generateCheckpointKey(join(newest, 'checkpoint-keys.json'))
  await withRegistry(newest, async (registry) => {
    await registry.checkpointKeys.rotate()
    await writeLaterHistories(registry)
    await untilAnchored(registry)
  })
  await withRegistry(foreign, async (registry) => {
    await writeFirstHistories(registry, 0)
  })
  return { newest, earlier, foreign, earlierRows: await storedRows(await copyOf(earlier, join(root, 'read'))) }
}

/** Reading a database changes its files. */
async function copyOf(directory: string, copy: string): Promise<string> {
  await cp(directory, copy, { recursive: true })
  return copy
}

async function withRegistry(directory: string, use: (registry: Registry) => Promise<void>): Promise<void> {
  const config = { ...checkConfig(directory), tsaIntervalMs: 0, anchorIntervalMs: 0 }
  const { registry } = await openConfiguredRegistry(config, silentLogger)
  try {
    await use(registry)
  } finally {
    await registry.close()
  }
}

/** Seals everything, and waits until the last batch is stamped and its anchor is confirmed. */
async function untilAnchored(registry: Registry): Promise<void> {
  await registry.sealNow()
  const isAnchored = (): true | undefined => {
    const { sealedSize, stampedSize, anchoredSize } = registry.status()
    return (stampedSize === sealedSize && anchoredSize === sealedSize) || undefined
  }
  await eventually(isAnchored, () => `not anchored: ${JSON.stringify(registry.status())}`)
}

const scopeOf = (companyId: string): Scope => ({ companyId, principal: OPERATOR })

const stage = (registry: Registry, scope: Scope, name: string): Promise<StagedFile> =>
  registry.files.stage(scope, { name, mimeType: 'text/plain', body: contentOf(name) }, { maxBytes: 10_000 })

async function* contentOf(name: string): AsyncGenerator<Uint8Array> {
  // Pictures and the files that are deleted are blobs. The others are small, so their bytes are in the records.
  yield Buffer.from(`content of ${name}\n`.repeat(/\.png$|-1\.txt$/.test(name) ? 400 : 20))
}

const inputOf = (externalId: string) => ({
  externalId,
  name: `Evidence ${externalId}`,
  owner: `Owner of ${externalId}`,
  description: `Description of ${externalId}`,
  meta: { serial: externalId, weight: 12 },
})

/** Three batches: evidences with files in two companies, and many with one event. */
async function writeFirstHistories(registry: Registry, bulk: number): Promise<void> {
  for (const company of COMPANIES) {
    const scope = scopeOf(company)
    await registry.sourceSystems.create(scope, { name: 'warehouse', permissions: 'U' })
    for (const name of ['a', 'b', 'c'])
      await registry.evidences.create(scope, {
        ...inputOf(`${company}-${name}`),
        category: { name: 'Tools' },
        subcategory: { name: 'Drills' },
        image: await stage(registry, scope, `${name}.png`),
        files: [await stage(registry, scope, `${name}-1.txt`), await stage(registry, scope, `${name}-2.txt`)],
      })
    await registry.sealNow()
  }
  const scope = scopeOf('acme')
  if (bulk > 0) await createBulk(registry, scope, bulk)
  await registry.evidences.update(scope, 'acme-a', {
    name: 'Renamed',
    persona: 'Ada',
    eventDescription: 'first change',
  })
}

async function createBulk(registry: Registry, scope: Scope, bulk: number): Promise<void> {
  const { id: categoryId, subcategories } = (await registry.categories.list(scope))[0] ?? { subcategories: [] }
  const [subcategory] = subcategories
  if (categoryId === undefined || subcategory === undefined) throw new Error('the first evidences make the categories')
  const evidences = Array.from({ length: bulk }, (_, i) => inputOf(`bulk-${i}`))
  await registry.evidences.createMany(scope, { categoryId, subcategoryId: subcategory.id, evidences })
}

/** Two more batches, with every type of event, deleted files, and changes of records that no event holds. */
async function writeLaterHistories(registry: Registry): Promise<void> {
  const scope = scopeOf('acme')
  await registry.evidences.update(scope, 'acme-a', { owner: 'Grace', summary: 'moved', updateDescription: 'second' })
  await registry.evidences.update(scope, 'acme-b', {
    updateType: 'stolen',
    files: [await stage(registry, scope, 'x.txt')],
  })
  await registry.sealNow()
  for (const externalId of ['acme-a', 'acme-b']) await deleteFirstFile(registry, scope, externalId)
  await registry.evidences.create(scope, {
    ...inputOf('acme-d'),
    category: { name: 'Tools' },
    subcategory: { name: 'Saws' },
    files: [await stage(registry, scope, 'd.txt')],
  })
  const [category] = await registry.categories.list(scope)
  const [system] = await registry.sourceSystems.list(scope)
  if (category === undefined || system === undefined) throw new Error('the first histories have both')
  const files = [await stage(registry, scope, 'category.txt')]
  await registry.categories.update(scope, { categoryId: category.id }, { description: 'All tools', files })
  await registry.sourceSystems.update(scope, system.id, { name: 'warehouse 2', permissions: 'A' })
}

async function deleteFirstFile(registry: Registry, scope: Scope, externalId: string): Promise<void> {
  const { evidence } = await registry.evidences.files(scope, externalId)
  const file = evidence.find(({ name }) => name.endsWith('-1.txt'))
  if (file === undefined) throw new Error(`${externalId} has no first file`)
  await registry.files.delete(scope, { fileId: file.id })
}
