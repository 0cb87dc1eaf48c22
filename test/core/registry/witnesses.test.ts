import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openLocalTsa } from '../../../adapters/local-tsa/index.ts'
import { logKeys } from '../../../core/log/keys.ts'
import { parseCheckpoint, verifyCheckpoint } from '../../../core/log/checkpoint.ts'
import { putRecord } from '../../../core/store/entries.ts'
import { parsePolicy, verifyBundle, verifyTlogProof } from '../../../core/verify/index.ts'
import { mlDsa44 } from '../../../core/verify/ml-dsa.ts'
import { until } from '../../support/manual-clock.ts'
import { assertIntact, openFixture, Stores, withStatus } from '../../support/registry-fixture.ts'
import { present } from '../../support/present.ts'
import { temporaryFor } from '../../support/temporary.ts'
import { differencesIn } from '../../support/whole-store.ts'
import type { TestWitness } from '../../support/witness.ts'
import { startWitnesses } from '../../support/witnessed-log.ts'
import { ForgedWitness } from '../verify/forged-witness.ts'

const linesOf = (note: string | undefined): readonly string[] =>
  (note ?? '').split('\n').filter((line) => line.startsWith('— wit.example/'))

it('shows cosignatures in the checkpoint, in proofs and in bundles, and what a verifier pins', async (t) => {
  const { witnesses, options, trust } = await startWitnesses(t, { count: 3, quorum: 2 })
  const fixture = await openFixture({ t, sealer: { witnesses: options, pollIntervalMs: 1_000 } })
  const { registry, clock } = fixture
  trust(registry.log.origin)
  await fixture.evidence()
  await registry.sealNow()
  const [unasked] = (await registry.log.policy()).witnesses
  assert.deepEqual(unasked?.ranges, [{ from: 3, until: null }], 'no tree so far was submitted')
  const published = async (): Promise<readonly string[]> => linesOf(await registry.log.publishedCheckpoint())
  await clock.advanceUntil(60_000, async () => (await published()).length === 3)
  const note = present(await registry.log.publishedCheckpoint())
  assert.equal(verifyCheckpoint(note, registry.log.verifierKey).size, 2)
  const proof = withStatus(await registry.proofs.evidence({ evidenceId: 'e-1' }), 'ok')
  assert.equal(linesOf(proof.merkle.checkpoint).length, 3)
  verifyCheckpoint(proof.merkle.checkpoint, registry.log.verifierKey)

  const { witnesses: shown, groups, quorum, extensions } = await registry.log.policy()
  assert.deepEqual(
    shown,
    witnesses.map(({ vkey, url }, i) => ({ name: `w${i + 1}`, vkey, url, ranges: [{ from: 2, until: null }] })),
  )
  assert.deepEqual(groups, [{ name: 'enough', threshold: 2, members: ['w1', 'w2', 'w3'] }])
  assert.deepEqual([quorum, extensions], ['enough', { submissionKey: witnesses[0]?.logKey }])

  const bundle = await registry.proofs.bundle(fixture.scope, { externalId: 'e-1', fields: 'none', files: 'none' })
  assert.equal(bundle.checkpoints[0]?.cosignatures.length, 3)
  const policy = parsePolicy(await registry.log.policyText())
  assert.equal(verifyBundle(JSON.stringify(bundle), { policy }).state, 'proven')
  const { txId } = (await registry.evidences.get(fixture.scope, 'e-1')).evidence
  const text = present(await registry.proofs.tlogProof(txId))
  assert.equal(linesOf(text).length, 3)
  assert.equal(verifyTlogProof(text, { policy }).state, 'proven')
  const without = { ...bundle, checkpoints: bundle.checkpoints.map((each) => ({ ...each, cosignatures: [] })) }
  assert.equal(verifyBundle(JSON.stringify(without), { policy }).state, 'requirement')
  await assertIntact(fixture)
})

it('has every stored cosignature checked by fsck', async (t) => {
  const fixture = await openFixture({ t })
  const { registry, stores } = fixture
  const { records } = stores
  await fixture.evidence()
  await registry.sealNow()
  const note = present(await registry.log.latestCheckpoint())
  const other = note.replace(/^2$/m, '3')
  const key = logKeys.cosigned(2)
  const attestations = { verifyToken: () => undefined, verifyAnchor: () => undefined, mlDsa44 }
  for (const type of [4, 6] as const) {
    const witness = new ForgedWitness('wit.example/1', 31, type)
    const [right, wrong] = [witness.cosign(note), witness.cosign(other)]
    const stranger = new ForgedWitness('wit.example/2', 32).cosign(note)
    const found = async (first: string, newest: string, verifier = {}) => {
      const record = { size: 2, submittedAt: 0, cosignatures: [{ vkey: witness.vkey, first, newest }] }
      await records.commit({ writes: [putRecord(key, record)] })
      return (await differencesIn({ records, ...verifier })).map((difference) => [difference.kind, difference.key])
    }
    const differs = [['cosignature', key]]
    assert.deepEqual(await found(right, right, { attestations }), [])
    assert.deepEqual(await found(right, wrong, { attestations }), differs)
    assert.deepEqual(await found(stranger, right, { attestations }), differs)
    assert.deepEqual(await found(wrong, right), type === 4 ? differs : [], 'type 06 is not checked without its library')
  }
})

it('publishes the checkpoint that was submitted last, and none that is smaller than the one before', async (t) => {
  const { options, trust } = await startWitnesses(t, { count: 1 })
  const { registry, clock, evidence } = await openFixture({ t, sealer: { witnesses: options, pollIntervalMs: 1_000 } })
  trust(registry.log.origin)
  const sizes: number[] = []
  for (let round = 0; round < 20; round++) {
    await evidence({ externalId: `e-${round}` })
    await registry.sealNow()
    await clock.advance(10_000)
    sizes.push(verifyCheckpoint(present(await registry.log.publishedCheckpoint()), registry.log.verifierKey).size)
  }
  assert.ok(sizes.every((size, i) => size >= (sizes[i - 1] ?? 0)))
  // At most one in a minute.
  assert.ok(new Set(sizes).size <= 4, String(sizes))
  assert.equal(parseCheckpoint(present(await registry.log.latestCheckpoint())).size, registry.status().sealedSize)
})

it('shows no smaller checkpoint after a time without witnesses', async (t) => {
  const { options, trust } = await startWitnesses(t, { count: 1 })
  const stores = new Stores()
  const sizes: number[] = []
  for (const asked of [{ witnesses: options }, {}, { witnesses: options }]) {
    const { registry, clock, evidence } = await openFixture({ stores, sealer: { ...asked, pollIntervalMs: 1_000 } })
    trust(registry.log.origin)
    await evidence({ externalId: `e-${sizes.length}` })
    await registry.sealNow()
    await clock.advance(1_000)
    const note = present(await registry.log.publishedCheckpoint())
    sizes.push(verifyCheckpoint(note, registry.log.verifierKey).size)
    await registry.close()
  }
  const sorted = sizes.toSorted((a, b) => a - b)
  assert.deepEqual(sizes, sorted)
})

it('shows a checkpoint once it has a quorum, or each witness had its time', async (t) => {
  const { witnesses, options, trust } = await startWitnesses(t, { count: 2, timeoutMs: 120_000 })
  const { registry, clock, evidence } = await openFixture({ t, sealer: { witnesses: options, pollIntervalMs: 1_000 } })
  trust(registry.log.origin)
  const [first, second] = witnesses as [TestWitness, TestWitness]
  const note = async (): Promise<string> => present(await registry.log.publishedCheckpoint())
  const grow = async (): Promise<void> => {
    await evidence({ externalId: `e-${registry.status().logSize}` })
    await registry.sealNow()
  }
  const untilShown = (cosignatures: number): Promise<void> =>
    until(async () => {
      if (linesOf(await note()).length !== cosignatures) await clock.advance(30_000)
      return linesOf(await note()).length === cosignatures
    })
  await grow()
  await untilShown(2)
  const before = await note()
  second.mode = 'slow'
  await grow()
  await clock.advanceUntil(10_000, () => first.seen?.size === registry.status().sealedSize)
  assert.equal(await note(), before)
  second.mode = 'honest'
  await until(async () => (await note()) !== before)
  assert.equal(linesOf(await note()).length, 2)
  second.mode = 'wrong key'
  await grow()
  await untilShown(1)
})

it('proves an event under a cosigned tree, too, if the stamped one has no quorum', async (t) => {
  const { witnesses, options, trust } = await startWitnesses(t, { count: 1, timeoutMs: 5_000 })
  const timestampAuthority = await openLocalTsa(await temporaryFor(t), { keepsLastStamp: false })
  const fixture = await openFixture({ t, sealer: { witnesses: options, timestampAuthority, pollIntervalMs: 1_000 } })
  const { registry, clock, scope } = fixture
  trust(registry.log.origin)
  const [witness] = witnesses as [TestWitness]
  witness.mode = 'dead'
  await fixture.evidence()
  await registry.sealNow()
  await clock.advanceUntil(1_000, () => registry.status().stampedSize === 2)
  // The tree that was stamped must not be cosigned later.
  await fixture.evidence({ externalId: 'e-2' })
  await registry.sealNow()
  witness.mode = 'honest'
  await clock.advanceUntil(60_000, () => registry.status().witnesses[0]?.cosignedAt !== null)
  const bundle = await registry.proofs.bundle(scope, { externalId: 'e-1', fields: 'none', files: 'none' })
  const [stamped, cosigned] = bundle.checkpoints
  assert.deepEqual([stamped?.tokens.length, stamped?.cosignatures.length], [1, 0])
  assert.equal(cosigned?.cosignatures.length, 1)
  assert.deepEqual(
    bundle.events[0]?.inclusion.map(({ treeSize }) => treeSize),
    [stamped, cosigned].map((checkpoint) => parseCheckpoint(checkpoint?.note ?? '').size),
  )
})
