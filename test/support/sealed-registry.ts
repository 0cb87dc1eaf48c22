import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openLocalLedger } from '../../adapters/local-ledger/index.ts'
import { openLocalTsa } from '../../adapters/local-tsa/index.ts'
import type { MemoryRecords, MemorySignedHead } from '../../adapters/memory/index.ts'
import type { BlobStore, Registry, Scope, StagedFile } from '../../core/index.ts'
import type { SealerOptions } from '../../sealer/index.ts'
import { until, type ManualClock } from './manual-clock.ts'
import { Stores, bodyOf, openFixture } from './registry-fixture.ts'
import { makeTemporary, removeTemporary } from './temporary.ts'

/** A registry in memory with real stamps and anchors. */
export interface SealedRegistry {
  readonly registry: Registry
  readonly records: MemoryRecords
  readonly blobs: BlobStore
  readonly signedHead: MemorySignedHead
  readonly clock: ManualClock
  readonly secret: Uint8Array
  /** DER of the time stamp authority's CA. */
  readonly trustAnchor: Uint8Array
  readonly scope: Scope
  readonly stage: (name: string, content: string, mimeType?: string) => Promise<StagedFile>
  /** Seals, then advances the clock until the newest checkpoint is stamped and its anchor confirmed. */
  readonly settle: () => Promise<void>
}

const HOUR_MS = 60 * 60 * 1_000

/**
 * @param seed - of the secret, so that two registries have different keys
 * @param authorities - the time stamp authorities. Default: one local authority
 */
export async function openSealedRegistry(
  directory: string,
  seed = 7,
  authorities?: (clock: ManualClock) => Promise<Pick<SealerOptions, 'timestampAuthorities' | 'quorum'>>,
): Promise<SealedRegistry> {
  const stores = new Stores()
  const { clock, records, blobs, signedHead } = stores
  const secret = new Uint8Array(32).fill(seed)
  const tsa = await openLocalTsa(join(directory, 'tsa'), { clock, keepsLastStamp: false })
  const anchor = await openLocalLedger(join(directory, 'ledger'), { clock })
  // With intervals some stamps and anchors are later than their batch.
  const { registry, scope } = await openFixture({
    stores,
    registry: { secret },
    sealer: {
      ...(authorities === undefined ? { timestampAuthority: tsa } : await authorities(clock)),
      anchor,
      pollIntervalMs: 1_000,
      tsaIntervalMs: HOUR_MS,
      anchorIntervalMs: HOUR_MS,
    },
  })
  return {
    registry,
    records,
    blobs,
    signedHead,
    clock,
    secret,
    trustAnchor: tsa.trustAnchor,
    scope,
    stage: (name, content, mimeType = 'text/plain') =>
      registry.files.stage(scope, { name, mimeType, body: bodyOf(content) }, { maxBytes: 1_000_000 }),
    async settle() {
      await registry.sealNow()
      let rounds = 0
      await until(async () => {
        // Short steps while the first stamp and anchor can be in progress, then whole intervals.
        await clock.advance(rounds++ < 100 ? 5_000 : HOUR_MS)
        const { sealedSize, stampedSize, anchoredSize } = registry.status()
        return stampedSize === sealedSize && anchoredSize === sealedSize
      })
    },
  }
}

/** What `fillRegistry` wrote. */
export interface Filled {
  /** External id of an evidence with an image, files, updates, a transfer and a deleted file, in three batches. */
  readonly drill: string
  readonly plain: string
  readonly keptFile: string
  readonly deletedFile: string
  readonly imageFile: string
  /** Attached by an event whose batch has the stamp and anchor of the next batch. */
  readonly billFile: string
}

export async function fillRegistry({ registry, scope, stage, settle, clock }: SealedRegistry): Promise<Filled> {
  const { evidences } = registry
  const names = { category: { name: 'Tools & Gärten' }, subcategory: { name: 'Drills' } }
  const [image, kept, deleted] = [
    await stage('drill.png', 'not really a picture', 'image/png'),
    await stage('manual.txt', 'Read this first.'),
    await stage('draft.txt', 'Never mind.'),
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
  const bill = await stage('bill.txt', 'One euro.')
  await evidences.update(scope, drill.externalId, { files: [bill] })
  await registry.sealNow()
  await evidences.update(scope, 'plain', { updateType: 'stolen' })
  await registry.files.delete(scope, { fileId: deleted.id })
  await settle()
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
export interface FilledRegistry extends SealedRegistry {
  readonly filled: Filled
  readonly close: () => Promise<void>
}

/** Has a folder of its own, which `close` removes. Closed after the test, if there is one. */
export async function openFilledRegistry(t?: TestContext): Promise<FilledRegistry> {
  const directory = await makeTemporary()
  const sealed = await openSealedRegistry(directory)
  const close = async (): Promise<void> => {
    await sealed.registry.close()
    await removeTemporary(directory)
  }
  t?.after(close)
  return { ...sealed, filled: await fillRegistry(sealed), close }
}

/** Counts the lists that are read from now on. */
export function countLists({ records }: SealedRegistry): { lists: number } {
  const list = records.list.bind(records)
  const count = { lists: 0 }
  records.list = (range) => {
    count.lists += 1
    return list(range)
  }
  return count
}
