import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CATEGORY_COUNT, categoryFieldsOf, categoryName, categoryOf, evidenceOf } from '../workload/evidence.ts'

/**
 * The calls of the library that `--against` needs, loaded from any build. This is the one place that knows how the API
 * differs between versions. It uses own types, because a build's types may differ from those of this checkout.
 */

/** Creates evidences in a new registry on LevelDB and local files. */
export interface EmbeddedCreator {
  createOne(index: number): Promise<unknown>
  /** Creates `count` evidences from number `from` in one commit. */
  createMany(from: number, count: number): Promise<unknown>
  close(): Promise<void>
}

type Scope = unknown

interface Registry {
  readonly sourceSystems: { create(scope: Scope, input: object): Promise<{ id: string }> }
  readonly categories: {
    create(scope: Scope, input: object, options?: object): Promise<{ id: string }>
    /** Before the option `parent`. */
    createSubcategory?(scope: Scope, categoryId: string, input: object): Promise<{ id: string }>
  }
  readonly evidences: {
    create(scope: Scope, input: object): Promise<unknown>
    createMany?(scope: Scope, input: object): Promise<unknown>
    /** Before `createMany`. */
    createIn?(scope: Scope, categoryId: string, subcategoryId: string, inputs: readonly object[]): Promise<unknown>
  }
  close(): Promise<void>
}

interface LibraryModules {
  readonly core: { readonly OPERATOR: unknown; openRegistry(options: object): Promise<Registry> }
  readonly level: { openLevelRecords(path: string): Promise<unknown> }
  readonly files: {
    openLocalBlobs(path: string): Promise<unknown>
    readonly FileSignedHead: new (path: string) => unknown
    generateCheckpointKey(path: string): Promise<unknown>
    openCheckpointKeys(path: string): Promise<unknown>
  }
  readonly sealer: {
    createSealer(options: object): unknown
    /** In builds that can make bulk creates in workers. */
    readonly EventPool?: new () => unknown
  }
}

async function loadModules(dist: string): Promise<LibraryModules> {
  const urlOf = (path: string): string => pathToFileURL(join(dist, path)).href
  const core = await import(urlOf('core/index.js'))
  const level = await import(urlOf('adapters/level/index.js'))
  const files = await import(urlOf('adapters/files/index.js'))
  return { core, level, files, sealer: await import(urlOf('sealer/index.js')) }
}

/**
 * Opens a registry with the library in `dist`, in an empty folder, with ten categories.
 *
 * It makes bulk creates in a worker, as the server does, if the build can do that.
 */
export async function openEmbeddedCreator(dist: string, directory: string): Promise<EmbeddedCreator> {
  const { core, level, files, sealer } = await loadModules(dist)
  const keyring = join(directory, 'checkpoint-keys.json')
  await files.generateCheckpointKey(keyring)
  const registry = await core.openRegistry({
    records: await level.openLevelRecords(join(directory, 'records')),
    blobs: await files.openLocalBlobs(join(directory, 'blobs')),
    signedHead: new files.FileSignedHead(join(directory, 'signed-head.json')),
    secret: new Uint8Array(32).fill(1),
    checkpointSigner: await files.openCheckpointKeys(keyring),
    sealer: sealer.createSealer({}),
    ...(sealer.EventPool && { eventEngine: new sealer.EventPool() }),
  })
  const { id } = await registry.sourceSystems.create(
    { companyId: 'bench', principal: core.OPERATOR },
    { name: 'bench' },
  )
  const scope = { companyId: 'bench', principal: { kind: 'sourceSystem', id, companyId: 'bench', permissions: 'U' } }
  const { categories, evidences } = registry
  const createCategory = async (name: string) => {
    const { id: categoryId } = await categories.create(scope, { name })
    const all = { name: 'All' }
    const created = categories.createSubcategory?.(scope, categoryId, all)
    const { id: subcategoryId } = await (created ?? categories.create(scope, all, { parent: categoryId }))
    return { categoryId, subcategoryId }
  }
  const { categoryId, subcategoryId } = await createCategory(categoryName(0))
  for (let i = 1; i < CATEGORY_COUNT; i++) await createCategory(categoryName(i))
  const isBeforeCreateMany = evidences.createMany === undefined
  return {
    createOne: (index) => {
      const category = isBeforeCreateMany ? categoryFieldsOf(index) : categoryOf(index)
      return evidences.create(scope, { ...category, ...evidenceOf(index) })
    },
    createMany: async (from, count) => {
      const inputs = Array.from({ length: count }, (_, i) => evidenceOf(from + i))
      return isBeforeCreateMany
        ? evidences.createIn?.(scope, categoryId, subcategoryId, inputs)
        : evidences.createMany?.(scope, { categoryId, subcategoryId, evidences: inputs })
    },
    close: () => registry.close(),
  }
}
