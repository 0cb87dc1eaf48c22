// Creates, updates, deletes a file, seals, and prints what a stranger needs to check it all.
import { mkdir } from 'node:fs/promises'
import { openRegistry, OPERATOR } from 'evidence-registry'
import { fsck } from 'evidence-registry/ops'
import {
  FileSignedHead,
  openLocalBlobs,
  openOrCreateCheckpointKeys,
  readOrCreateSecret,
} from 'evidence-registry/adapters/files'
import { openLevelRecords } from 'evidence-registry/adapters/level'
import { createSealer, writeBatchProofs } from 'evidence-registry/sealer'

await mkdir('data', { recursive: true })
const registry = await openRegistry({
  records: await openLevelRecords('data/records'),
  blobs: await openLocalBlobs('data/blobs'),
  signedHead: new FileSignedHead('data/signed-head.json'),
  secret: await readOrCreateSecret('data/secret'),
  checkpointSigner: await openOrCreateCheckpointKeys('data/checkpoint-keys.json'),
  sealer: createSealer(),
})
if (typeof fsck !== 'function') throw new Error('fsck is missing')
const scope = { companyId: 'acme', principal: OPERATOR }
await registry.sourceSystems.create(scope, { name: 'warehouse' })

async function* content() {
  yield new TextEncoder().encode('Read this first.')
}
const manual = await registry.files.stage(
  scope,
  { name: 'manual.txt', mimeType: 'text/plain', body: content() },
  { maxBytes: 1_000 },
)
const { id } = await registry.evidences.create(scope, {
  externalId: 'drill-4711',
  name: 'Hammer drill',
  owner: 'Ada',
  category: { name: 'Tools' },
  subcategory: { name: 'Drills' },
  files: [manual],
})
await registry.evidences.update(scope, 'drill-4711', { owner: 'Grace' })
await registry.sealNow()

const { events } = await registry.evidences.get(scope, 'drill-4711')
const ofFile = await registry.proofs.publicBundle({ evidenceId: id, fileId: manual.id })
const result = {
  policy: await registry.log.policy(),
  bundles: [
    await registry.proofs.bundle(scope, { externalId: 'drill-4711', fields: 'all', files: 'all', history: true }),
    ofFile.bundle,
  ],
}
const [{ batch }] = events
let proofBytes = 0
await writeBatchProofs({
  log: registry.log,
  batchId: batch.id,
  write: ({ bytes }) => {
    proofBytes += bytes.length
  },
})
if (proofBytes === 0) throw new Error('The batch has no proofs')
await registry.close()
process.stdout.write(`${JSON.stringify(result)}\n`)
