import assert from 'node:assert/strict'
import { join } from 'node:path'
import {
  FileSignedHead,
  openLocalBlobs,
  openOrCreateCheckpointKeys,
  readOrCreateSecret,
} from '../../../adapters/files/index.ts'
import { openLevelRecords } from '../../../adapters/level/index.ts'
import { openLocalLedger } from '../../../adapters/local-ledger/index.ts'
import { openLocalTsa } from '../../../adapters/local-tsa/index.ts'
import { isRegistryError, openRegistry, OPERATOR, type Meta } from '../../../core/index.ts'
import { parsePolicy, verifyBundle } from '../../../core/verify/index.ts'
import { createSealer, PoolEngine } from '../../../sealer/index.ts'

/** What a program does that embeds the registry. `Date`, `Uint8Array` and `meta` can be of another realm. */
export async function run(options: {
  readonly directory: string
  readonly Date: DateConstructor
  readonly Uint8Array: Uint8ArrayConstructor
  readonly meta: Meta
}): Promise<void> {
  assert.notEqual(options.Date, Date)
  const path = (name: string): string => join(options.directory, name)
  const tomorrow = new options.Date(Date.now() + 86_400_000)
  const registry = await openRegistry({
    records: await openLevelRecords(path('records')),
    blobs: await openLocalBlobs(path('blobs')),
    signedHead: new FileSignedHead(path('signed-head.json')),
    secret: options.Uint8Array.from(await readOrCreateSecret(path('secret'))),
    checkpointSigner: await openOrCreateCheckpointKeys(path('checkpoint-keys.json')),
    sealer: createSealer({
      timestampAuthority: await openLocalTsa(path('tsa')),
      anchor: await openLocalLedger(path('ledger')),
      engine: new PoolEngine({ inlineHashes: 0 }),
    }),
  })
  const scope = { companyId: 'acme', principal: OPERATOR }
  await assert.rejects(openLevelRecords(path('records')), (error) => isRegistryError(error, 'STORE_LOCKED'))
  await registry.sourceSystems.create(scope, { name: 'warehouse', expiresAt: tomorrow })
  async function* body() {
    for (let i = 0; i < 8; i++) yield new options.Uint8Array(1_024).fill(i)
  }
  const file = await registry.files.stage(
    scope,
    { name: 'a.bin', mimeType: 'image/png', body: body() },
    { maxBytes: 10_000 },
  )
  const named = { category: { name: 'Tools' }, subcategory: { name: 'Drills' } }
  await registry.evidences.create(scope, { ...named, externalId: 'a', name: 'A', meta: options.meta, files: [file] })
  const [made] = (await registry.evidences.list(scope)).items
  assert.ok(made)
  const { categoryId, subcategoryId } = made
  const many = Array.from({ length: 200 }, (_, i) => ({ externalId: `b-${i}`, name: 'B' }))
  assert.equal((await registry.evidences.createMany(scope, { categoryId, subcategoryId, evidences: many })).length, 200)
  const { items } = await registry.evidences.list(scope, { createdTo: tomorrow, limit: 1_000 })
  assert.equal(items.length, 201)
  await registry.sealNow()
  const bundle = await registry.proofs.bundle(scope, { externalId: 'a', fields: 'all', files: 'all' })
  const verified = verifyBundle(JSON.stringify(bundle), {
    policy: parsePolicy(JSON.stringify(await registry.log.policy())),
  })
  assert.equal(verified.state, 'proven', JSON.stringify(verified))
  await assert.rejects(registry.evidences.get(scope, 'none'), (error) => isRegistryError(error, 'EVIDENCE_NOT_FOUND'))
  await registry.close()
}
