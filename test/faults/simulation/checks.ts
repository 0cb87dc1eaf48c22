import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { parseCheckpoint } from '../../../core/log/checkpoint.ts'
import { verifyConsistency } from '../../../core/log/tree/proof.ts'
import type { Registry } from '../../../core/index.ts'
import { fsck } from '../../../core/ops/index.ts'
import { parsePolicy, verifyBundle } from '../../../core/verify/index.ts'
import type { KnownEvidence } from './model.ts'
import { ANCHOR_POLL_MS, isTransient, SCOPE, type World } from './world.ts'
import type { Workload } from './workload.ts'

const MAX_ROUNDS = 200
const MAX_PUBLISHED = 1_000

/** Checks after the faults, in a new process, everything that the registry promises. Throws if a promise is broken. */
export async function checkPromises(world: World, workload: Workload): Promise<void> {
  world.outside.disarm()
  await world.close()
  await sealEverything(world)
  await world.notePublished()
  const registry = await world.registry()
  const logSize = await world.stores.records.logSize()
  await workload.client.repeatAll()
  assert.equal(await world.stores.records.logSize(), logSize, 'retries wrote events again')
  await checkContents(registry, workload)
  const policy = parsePolicy(JSON.stringify(await registry.log.policy()))
  for (const evidence of workload.model.evidences) await checkEvidence(registry, { evidence, policy })
  await checkGrowth(world, registry)
  const { intents, pendingDeletions, files, stored } = await world.stores.blobState()
  assert.deepEqual(stored, files, 'the blob store does not hold exactly the files that records use')
  assert.deepEqual({ intents, pendingDeletions }, { intents: 0, pendingDeletions: 0 }, 'uploads or deletions are left')
  await world.close()
  await checkStore(world)
}

/** Without faults everything gets sealed, stamped and anchored by itself. */
async function sealEverything(world: World): Promise<void> {
  const { chain, stores } = world
  chain.isStuck = false
  const registry = await world.registry()
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { unsealedEvents, logSize, sealedSize, stampedSize, anchoredSize } = registry.status()
    if (logSize > 0 && unsealedEvents === 0 && stampedSize === sealedSize && anchoredSize === sealedSize) return
    if (round > 0) chain.mine(4)
    await world.drive(registry.sealNow()).catch((error: unknown) => {
      if (!isTransient(error)) throw error
    })
    await stores.clock.advance(ANCHOR_POLL_MS)
  }
  assert.fail(`not everything is sealed, stamped and anchored: ${JSON.stringify(registry.status())}`)
}

/** Exactly what was acknowledged exists. */
async function checkContents({ evidences, categories, sourceSystems }: Registry, { model }: Workload): Promise<void> {
  const listed: string[] = []
  for await (const { externalId } of evidences.all(SCOPE)) listed.push(externalId)
  assert.deepEqual(listed.sort(), model.evidences.map(({ externalId }) => externalId).sort(), 'evidences')
  const systems = await sourceSystems.list(SCOPE)
  assert.deepEqual(systems.map(({ name }) => name).sort(), model.sourceSystems.toSorted(), 'source systems')
  const found = (await categories.list(SCOPE)).map(
    ({ name, evidenceCount, subcategories }) =>
      [name, evidenceCount, subcategories.map((each) => each.name).sort()] as const,
  )
  const known = [...model.categories].map(
    ([name, subcategories]) =>
      [name, model.evidences.filter(({ category }) => category === name).length, [...subcategories].sort()] as const,
  )
  const byName = (a: readonly [string, ...unknown[]], b: readonly [string, ...unknown[]]): number =>
    a[0] < b[0] ? -1 : 1
  assert.deepEqual(found.toSorted(byName), known.toSorted(byName), 'categories')
}

interface EvidenceCheck {
  readonly evidence: KnownEvidence
  readonly policy: ReturnType<typeof parsePolicy>
}

/** The whole history of an evidence is as acknowledged, its files can be read, and its bundle is proven. */
async function checkEvidence(registry: Registry, { evidence, policy }: EvidenceCheck): Promise<void> {
  const { externalId } = evidence
  const { evidence: stored, events } = await registry.evidences.get(SCOPE, externalId, { limit: 500 })
  const { id, owner = '', description = '' } = stored
  assert.deepEqual(
    { id, owner, description },
    { id: evidence.id, owner: evidence.owner, description: evidence.description },
    externalId,
  )
  assert.deepEqual(
    events.map(({ type, updateType, txId }, i) => ({
      type: updateType === undefined ? type : `${type} ${updateType}`,
      ...(evidence.events[i]?.txId !== undefined && { txId }),
    })),
    creationOf(evidence),
    `the history of ${externalId}`,
  )
  const { evidence: attached } = await registry.evidences.files(SCOPE, externalId)
  const contents: string[] = []
  for (const { id: fileId, name } of attached) {
    const file = await registry.files.find(SCOPE, { fileId, externalId })
    contents.push(`${name}: ${await text(await registry.files.read(file))}`)
  }
  const expected = evidence.files
    .filter(({ isDeleted }) => !isDeleted)
    .map(({ name, content }) => `${name}: ${content}`)
  assert.deepEqual(contents.sort(), expected.sort(), `the files of ${externalId}`)
  const bundle = await registry.proofs.bundle(SCOPE, { externalId, fields: 'all', files: 'all' })
  const result = verifyBundle(JSON.stringify(bundle), { policy, expect: { txId: evidence.events[0]?.txId ?? '' } })
  assert.equal(result.state, 'proven', `${externalId}: ${'reason' in result ? result.reason : ''}`)
  if ('claims' in result) assert.equal(result.claims.events.length, evidence.events.length, externalId)
}

/** The events without members that the registry does not return. */
const creationOf = ({ events }: KnownEvidence) =>
  events.map(({ type, txId }) => ({ type, ...(txId !== undefined && { txId }) }))

/** Every tree that was ever signed is the beginning of the newest one. */
async function checkGrowth(world: World, registry: Registry): Promise<void> {
  const note = await registry.log.latestCheckpoint()
  if (note === undefined) return assert.deepEqual(world.published, [], 'the newest checkpoint is gone')
  const { size: toSize, root: toRoot } = parseCheckpoint(note)
  const trees = new Map(
    world.published.map((tree) => [`${tree.size} ${Buffer.from(tree.root).toString('hex')}`, tree] as const),
  )
  assert.ok(trees.size < MAX_PUBLISHED)
  for (const [name, { size: fromSize, root: fromRoot }] of trees) {
    assert.ok(fromSize <= toSize, `the published tree ${name} is larger than the log, which has ${toSize} entries`)
    const proof = await registry.log.consistencyProof({ from: fromSize, to: toSize })
    verifyConsistency({ fromSize, fromRoot, toSize, toRoot, proof })
  }
}

/** fsck computes everything again from the records, and finds nothing that differs. */
async function checkStore({ stores, keys }: World): Promise<void> {
  const signedHead = await stores.signedHead.read()
  const differences: string[] = []
  await fsck(
    {
      records: stores.records,
      blobs: stores.blobs,
      secret: stores.secret,
      checkpointSigner: keys,
      ...(signedHead && { signedHead }),
    },
    { onDifference: ({ kind, key, message }) => differences.push(`${kind} ${key}: ${message}`) },
  )
  assert.deepEqual(differences, [], 'fsck')
}
