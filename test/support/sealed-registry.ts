import type { TestContext } from 'node:test'
import { openBundleRegistry, type BundleRegistry, type BundleRegistryOptions } from './bundle-fixture.ts'
import { makeTemporary, removeTemporary } from './temporary.ts'

const HOUR_MS = 60 * 60 * 1_000

/** What `fillRegistry` wrote. */
interface Filled {
  /** External id of an evidence with an image, files, updates, a transfer and a deleted file, in three batches. */
  readonly drill: string
  readonly plain: string
  readonly keptFile: string
  readonly deletedFile: string
  readonly imageFile: string
  /** Attached by an event whose batch has the stamp and anchor of the next batch. */
  readonly billFile: string
}

async function fillRegistry({ registry, scope, stage, settle, clock }: BundleRegistry): Promise<Filled> {
  const { evidences } = registry
  const names = { category: { name: 'Tools & Gärten' }, subcategory: { name: 'Drills' } }
  const [image, kept, deleted] = [
    await stage('not really a picture', 'drill.png', 'image/png'),
    await stage('Read this first.', 'manual.txt'),
    await stage('Never mind.', 'draft.txt'),
  ]
  const drill = {
    ...names,
    externalId: 'drill/4711',
    name: 'Drill',
    owner: 'Ada',
    summary: 'A drill',
    meta: { a: [1] },
  }
  await evidences.create(scope, { ...drill, image, files: [kept, deleted] })
  await evidences.create(scope, { ...names, externalId: 'plain', name: 'Plain' })
  await settle()
  await clock.advance(1_000)
  await evidences.update(scope, drill.externalId, {
    owner: 'Grace',
    description: 'Repaired',
    meta: { b: { c: null } },
    updateDescription: 'New bit',
    persona: 'Smith',
    eventDescription: 'In the workshop',
  })
  const bill = await stage('One euro.', 'bill.txt')
  await evidences.update(scope, drill.externalId, { files: [bill] })
  await registry.sealNow()
  await evidences.update(scope, 'plain', { updateType: 'stolen' })
  await registry.files.delete(scope, { fileId: deleted.id })
  await settle()
  await registry.shares.create(scope, drill.externalId, { fields: ['name'], files: 'all' })
  return {
    drill: drill.externalId,
    plain: 'plain',
    keptFile: kept.id,
    deletedFile: deleted.id,
    imageFile: image.id,
    billFile: bill.id,
  }
}

/** A registry that `fillRegistry` has filled. */
export interface FilledRegistry extends BundleRegistry {
  readonly filled: Filled
}

/** Has a folder of its own, which `close` removes. Closed after the test, if there is one. */
export async function openFilledRegistry(
  t?: TestContext,
  options?: Pick<BundleRegistryOptions, 'authorities' | 'quorum'>,
): Promise<FilledRegistry> {
  const directory = await makeTemporary()
  const registry = await openBundleRegistry({ directory, intervalMs: HOUR_MS, ...options })
  const close = async (): Promise<void> => {
    await registry.close()
    await removeTemporary(directory)
  }
  t?.after(close)
  return { ...registry, filled: await fillRegistry(registry), close }
}
