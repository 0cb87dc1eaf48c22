// Seals evidences in a bulk, in the directory that is given or in memory, and prints how many, and whether workers failed.
import { openRegistry, OPERATOR } from 'evidence-registry'
import {
  FileSignedHead,
  openLocalBlobs,
  openOrCreateCheckpointKeys,
  readOrCreateSecret,
} from 'evidence-registry/adapters/files'
import { openLevelRecords } from 'evidence-registry/adapters/level'
import { MemoryBlobs, MemoryCheckpointKeys, MemoryRecords, MemorySignedHead } from 'evidence-registry/adapters/memory'
import { createSealer, PoolEngine } from 'evidence-registry/sealer'

const inMemory = () => ({
  records: new MemoryRecords(),
  blobs: new MemoryBlobs(),
  signedHead: new MemorySignedHead(),
  secret: new Uint8Array(32).fill(1),
  checkpointSigner: new MemoryCheckpointKeys(),
})
const inFiles = async (path) => ({
  records: await openLevelRecords(`${path}/records`),
  blobs: await openLocalBlobs(`${path}/blobs`),
  signedHead: new FileSignedHead(`${path}/signed-head.json`),
  secret: await readOrCreateSecret(`${path}/secret`),
  checkpointSigner: await openOrCreateCheckpointKeys(`${path}/checkpoint-keys.json`),
})

async function main(path) {
  const registry = await openRegistry({
    ...(path === undefined ? inMemory() : await inFiles(path)),
    sealer: createSealer({ engine: new PoolEngine({ inlineHashes: 0 }) }),
  })
  const scope = { companyId: 'acme', principal: OPERATOR }
  await registry.sourceSystems.create(scope, { name: 'warehouse' })
  const { id: categoryId } = await registry.categories.create(scope, { name: 'Tools' })
  const { id: subcategoryId } = await registry.categories.create(scope, { name: 'Drills' }, { parent: categoryId })
  const evidences = Array.from({ length: 300 }, (_, i) => ({ externalId: `drill-${i}`, name: 'Drill' }))
  const created = await registry.evidences.createMany(scope, { categoryId, subcategoryId, evidences })
  await registry.sealNow()
  const { status } = await registry.proofs.evidence({ evidenceId: created[0].id })
  const workers = registry.status().failures.engine.count === 0 ? 'workers' : 'no workers'
  await registry.close()
  process.stdout.write(`${created.length} ${status}, ${workers}\n`)
}

main(process.argv[2]).catch((error) => {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
})
