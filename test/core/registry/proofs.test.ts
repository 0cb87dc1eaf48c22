import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { openLocalTsa } from '../../../adapters/local-tsa/index.ts'
import { fromBase64, fromHex, toHex } from '../../../core/bytes.ts'
import { verifyCheckpoint } from '../../../core/log/checkpoint.ts'
import { logKeys } from '../../../core/log/keys.ts'
import { OPERATOR, type MerkleValidationRequest } from '../../../core/index.ts'
import { keys } from '../../../core/store/keys.ts'
import { CompanyId } from '../../../core/schemas/fields.ts'
import {
  EvidenceProof,
  FileProof,
  MerkleProof,
  MerkleRoot,
  MerkleValidation,
  type ProofItem,
} from '../../../core/schemas/proof-documents.ts'
import { verifyConsistency } from '../../../core/log/tree/proof.ts'
import { validate } from '../../../core/schemas/validation.ts'
import { verifyTimestamp } from '../../../core/verify/tokens.ts'
import { ManualClock, until } from '../../support/manual-clock.ts'
import { COMPANY, inCategory, openFixture, it, withStatus, type Fixture } from '../../support/registry-fixture.ts'
import { ScriptedChain } from '../../support/scripted-chain.ts'
import { H, recompute, saltedHash } from '../../support/commitment-reference.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')

/** The root that follows from a txId and its siblings (RFC 6962 § 2.1), computed without the library. */
function rootOf(txId: string, proof: readonly ProofItem[]): string {
  let hash = H(Buffer.of(0), bytes(txId))
  for (const { hash: other, position } of proof) {
    const sibling = bytes(other)
    hash = position === 'left' ? H(Buffer.of(1), sibling, hash) : H(Buffer.of(1), hash, sibling)
  }
  return hash.toString('hex')
}

/** A registry with a chain whose blocks the test mines, and with a real authority. */
async function openAnchored(t: TestContext, directory: string) {
  const chain = new ScriptedChain()
  const tsa = await openLocalTsa(directory, { clock: new ManualClock(), keepsLastStamp: false })
  const fixture = await openFixture({ t, sealer: { anchor: chain, timestampAuthority: tsa, pollIntervalMs: 1_000 } })
  const { registry, clock } = fixture
  /** Waits until the newest checkpoint is stamped and its anchor confirmed. */
  const confirm = async (): Promise<void> => {
    await until(async () => {
      await clock.advance(2_000)
      chain.mine()
      const { sealedSize, stampedSize, anchoredSize } = registry.status()
      return stampedSize === sealedSize && anchoredSize === sealedSize
    })
  }
  return { ...fixture, chain, confirm, trustAnchor: tsa.trustAnchor }
}

describe('proofs', () => {
  const directory = temporaryOfSuite()

  test('go from pending to sealed, sent and confirmed', async (t) => {
    const fixture = await openAnchored(t, `${directory}/a`)
    const { registry, proofs, evidence, chain, clock, confirm, scope, trustAnchor } = fixture
    await evidence()
    const { evidence: stored } = await registry.evidences.get(scope, 'e-1')
    const pending = withStatus(await proofs.evidence({ evidenceId: 'e-1' }), 'pending')
    assert.deepEqual(pending, {
      status: 'pending',
      evidenceId: 'e-1',
      txId: stored.txId,
      createdAt: stored.createdAt.toISOString(),
      fileCount: 0,
      opening: pending.opening,
      assurance: { time: 'none', anchor: 'none', note: pending.assurance.note },
    })
    assert.equal(H(bytes(pending.opening)).toString('hex'), stored.txId)
    assert.deepEqual(
      [(await proofs.transaction(stored.txId)).status, await proofs.root(stored.txId)],
      ['pending', { status: 'pending' }],
    )

    // Otherwise the sealer could anchor the checkpoint before the next line.
    chain.isDown = true
    await registry.sealNow()
    const evidenceProof = async () => withStatus(await proofs.evidence({ evidenceId: 'e-1' }), 'ok')
    const sealed = await evidenceProof()
    assert.equal(sealed.merkle.sendStatus, 'P')
    assert.equal(rootOf(stored.txId, sealed.merkle.proof), sealed.merkle.merkleRoot)
    const checkpoint = verifyCheckpoint(sealed.merkle.checkpoint, registry.log.verifierKey)
    assert.deepEqual(
      [checkpoint.size, Buffer.from(checkpoint.root).toString('hex')],
      [sealed.merkle.treeSize, sealed.merkle.merkleRoot],
    )
    assert.deepEqual(['anchor' in sealed.merkle, 'blockNumber' in sealed], [false, false])

    chain.isDown = false
    await clock.advanceUntil(1_000, async () => (await evidenceProof()).merkle.sendStatus === 'S')
    assert.equal('anchor' in (await evidenceProof()).merkle, false, 'sent is not confirmed')
    // The stamp and the anchor are of checkpoints that are later than the batch.
    await registry.evidences.update(scope, 'e-1', { description: 'x' })
    await registry.sealNow()
    await confirm()
    const confirmed = await evidenceProof()
    const { merkle, tsa, blockNumber, assurance } = confirmed
    assert.ok(merkle.anchor && tsa)
    assert.equal(merkle.sendStatus, 'C')
    const placeOf = ({ leafIndex, merkleRoot, proof }: typeof merkle) => ({ leafIndex, merkleRoot, proof })
    assert.deepEqual(placeOf(merkle), placeOf(sealed.merkle), 'it is still that of the creation')
    assert.deepEqual(
      [merkle.anchor.type, merkle.anchor.network, merkle.anchor.blockNumber],
      ['scripted', 'test', blockNumber],
    )
    assert.ok(merkle.anchor.confirmations >= 3 && blockNumber !== undefined && blockNumber <= chain.height)
    assert.deepEqual([assurance.time, assurance.anchor], ['operator', 'independent'])
    for (const later of [merkle.anchor, tsa]) {
      const { size, root } = verifyCheckpoint(later.checkpoint, registry.log.verifierKey)
      assert.equal(size, later.treeSize)
      const proof = later.consistency.map((hash) => fromHex(hash) as Uint8Array)
      const from = { fromSize: merkle.treeSize, fromRoot: bytes(merkle.merkleRoot) }
      verifyConsistency({ ...from, toSize: size, toRoot: root, proof })
    }
    const token = verifyTimestamp(fromBase64(tsa.token) as Uint8Array, {
      data: Buffer.from(tsa.checkpoint),
      trustAnchors: [trustAnchor],
    })
    assert.deepEqual(
      [new Date(token.genTime).toISOString(), token.serialNumber, token.policy],
      [tsa.genTime, tsa.serialNumber, tsa.policy],
    )
    const root = withStatus(await proofs.root(stored.txId), 'ok')
    assert.deepEqual(root, {
      status: 'ok',
      merkleRoot: merkle.merkleRoot,
      txidCount: root.txidCount,
      sendStatus: 'C',
      treeDepth: Math.ceil(Math.log2(merkle.treeSize)),
      createdAt: root.createdAt,
      tsaGenTime: tsa.genTime,
      tsaSerial: tsa.serialNumber,
      tsaPolicy: tsa.policy,
      batchId: merkle.batchId,
    })
    const der = await proofs.timestampToken(merkle.batchId)
    assert.equal(Buffer.from(der).toString('base64'), tsa.token)
    for (const [schema, answer] of [
      [EvidenceProof, confirmed],
      [MerkleRoot, root],
      [MerkleProof, await proofs.transaction(stored.txId)],
    ] as const)
      validate(schema, answer)
    assert.deepEqual((await registry.evidences.list(scope)).items[0]?.blockNumber, blockNumber)
  })

  test('exist for every entry of a log with many batches, also for keys and tokens', async (t) => {
    const { registry, scope, evidence, confirm, stores } = await openAnchored(t, `${directory}/b`)
    for (let i = 0; i < 9; i++) {
      await evidence({ externalId: `e-${i}` })
      if (i % 2 === 0) await registry.evidences.update(scope, `e-${i}`, { description: 'x', owner: 'y' })
      await registry.sealNow()
      if (i === 4) await confirm()
    }
    const size = registry.status().sealedSize
    const packed = Buffer.from(await stores.records.readLog(0, size))
    const openings = await registry.log.openings({ index: 0, width: size })
    for (let position = 0; position < size; position++) {
      const entry = packed.subarray(32 * position, 32 * position + 32).toString('hex')
      const answer = withStatus(await registry.proofs.transaction(entry), 'ok')
      assert.equal(answer.leafIndex, position)
      assert.equal(rootOf(entry, answer.proof), answer.merkleRoot)
      assert.equal(openings?.[position], answer.opening)
      assert.equal(H(bytes(answer.opening)).toString('hex'), entry)
      const { merkleRoot, proof } = answer
      assert.equal((await registry.proofs.validate({ txId: entry, merkleRoot, proof })).valid, true)
    }
    assert.equal(await registry.log.openings({ index: 0, width: size + 1 }), undefined)
    assert.equal(await registry.log.openings({ index: 1, width: 1 }), undefined)
  })
})

describe('the proof of an evidence', () => {
  it('is the same by external id and by internal id', async ({ proofs, evidences, scope, evidence }) => {
    await evidence()
    const { id } = (await evidences.get(scope, 'e-1')).evidence
    assert.deepEqual(await proofs.evidence({ evidenceId: id }), await proofs.evidence({ evidenceId: 'e-1' }))
    assert.deepEqual(
      await proofs.evidence({ evidenceId: 'e-1', companyId: COMPANY }),
      await proofs.evidence({ evidenceId: 'e-1' }),
    )
    for (const [evidenceId, company] of [
      ['none', undefined],
      ['e-1', 'other'],
      ['e-1', 'x'.repeat(10_000)],
      ['e-1', '\0'],
    ] as const)
      assert.deepEqual(await proofs.evidence({ evidenceId, ...(company !== undefined && { companyId: company }) }), {
        status: 'not_found',
        evidenceId,
        error: 'There is no such evidence',
        code: 'EVIDENCE_NOT_FOUND',
      })
    for (const wrong of ['', '.', '..', 'a\0', 'x'.repeat(129)]) {
      const answer = withStatus(await proofs.evidence({ evidenceId: wrong }), 'invalid')
      assert.deepEqual([answer.code, 'txId' in answer], ['VALIDATION_ERROR', false], wrong)
    }
  })

  it('is that of the named company, also if its external id is the internal id of another company', async (fixture) => {
    const { proofs, evidences, scope, evidence, system } = fixture
    await evidence({ externalId: 'first' })
    const { id, txId } = (await evidences.get(scope, 'first')).evidence
    const { scope: foreign } = await system('I', 'other')
    const own = await evidences.create(foreign, { ...inCategory('C', 'S'), externalId: id, name: 'x' })
    const txIdOf = async (selector: { companyId?: string; txId?: string }) =>
      withStatus(await proofs.evidence({ evidenceId: id, ...selector }), 'pending').txId
    assert.equal(await txIdOf({}), txId)
    assert.equal(await txIdOf({ companyId: COMPANY }), txId)
    assert.equal(await txIdOf({ companyId: 'other' }), own.txId)
    assert.equal(await txIdOf({ txId }), txId)
    assert.equal(await txIdOf({ txId: own.txId }), own.txId)
    assert.equal((await proofs.evidence({ evidenceId: id, companyId: 'ghost' })).status, 'not_found')
    assert.equal((await proofs.evidence({ evidenceId: own.id, companyId: COMPANY })).status, 'not_found')
    assert.equal((await proofs.evidence({ evidenceId: id.toUpperCase(), companyId: COMPANY })).status, 'pending')
  })

  it('is ambiguous if several companies use the external id, and reveals nothing else', async (fixture) => {
    const { proofs, evidences, scope, evidence, system } = fixture
    await evidence({ externalId: 'shared' })
    const { scope: foreign } = await system('I', 'other')
    await evidences.create(foreign, { ...inCategory('C', 'S'), externalId: 'shared', name: 'x' })
    const answer = withStatus(await proofs.evidence({ evidenceId: 'shared' }), 'ambiguous')
    assert.deepEqual(Object.keys(answer).sort(), ['candidates', 'code', 'error', 'evidenceId', 'status'])
    const expected = [await evidences.get(scope, 'shared'), await evidences.get(foreign, 'shared')].map(
      ({ evidence: { id, txId: created, createdAt } }) => ({ id, txId: created, createdAt: createdAt.toISOString() }),
    )
    assert.deepEqual(answer.candidates, expected, 'oldest first')
    for (const { txId: selected } of expected)
      assert.equal(
        withStatus(await proofs.evidence({ evidenceId: 'shared', txId: `0x${selected.toUpperCase()}` }), 'pending')
          .txId,
        selected,
      )
    assert.equal((await proofs.evidence({ evidenceId: 'shared', txId: '0'.repeat(64) })).status, 'not_found')
    assert.equal((await proofs.evidence({ evidenceId: 'shared', txId: 'x' })).status, 'invalid')
    assert.equal(answer.code, 'AMBIGUOUS')
    const fileId = '01890000-0000-7000-8000-000000000000'
    assert.equal((await proofs.file({ evidenceId: 'shared', fileId })).status, 'ambiguous')
    const { id, txId } = (await evidences.get(foreign, 'shared')).evidence
    for (const named of [{ evidenceId: 'shared', companyId: 'other' }, { evidenceId: id }])
      assert.equal(withStatus(await proofs.evidence(named), 'pending').txId, txId)
  })

  it('names the 100 oldest of more candidates, and never an evidence with another external id', async (fixture) => {
    const { proofs, sourceSystems, evidences, stores } = fixture
    const ids: string[] = []
    // Later companies come first by name.
    for (let i = 101; i > 0; i--) {
      const scope = { companyId: `c${i}`, principal: OPERATOR }
      await sourceSystems.create(scope, { name: 'first' })
      ids.push((await evidences.create(scope, { ...inCategory('C', 'S'), externalId: 'shared', name: 'x' })).id)
    }
    const { candidates } = withStatus(await proofs.evidence({ evidenceId: 'shared' }), 'ambiguous')
    assert.deepEqual(
      candidates.map(({ id }) => id),
      ids.slice(0, 100),
    )
    // As if two external ids had the same hash.
    const [first = '', second = ''] = ids
    for (const [id, company] of [
      [first, 'c101'],
      [second, 'c100'],
    ] as const) {
      await stores.records.commit({ writes: [{ key: keys.publicId('other', id), value: Buffer.from(company) }] })
      await rejectsWith('CORRUPT', proofs.evidence({ evidenceId: 'other' }))
    }
  })

  it('prefers the internal id to an equal external id of another evidence', async (fixture) => {
    const { proofs, evidences, scope, evidence } = fixture
    await evidence({ externalId: 'mine' })
    const { evidence: stored } = await evidences.get(scope, 'mine')
    await evidence({ externalId: stored.id })
    assert.equal(withStatus(await proofs.evidence({ evidenceId: stored.id }), 'pending').txId, stored.txId)
    // A text of this form that is not an internal id is looked up as an external id.
    const id = '01890000-0000-7000-8000-000000000000'
    await evidence({ externalId: id })
    assert.equal((await proofs.evidence({ evidenceId: id })).evidenceId, id)
  })
})

describe('the proof of a file', () => {
  /** Checks the path from the file's own text and salt, which only a key holder gets, to the opening. */
  async function assertBound(
    { registry: { evidences }, scope }: Fixture,
    proof: Extract<FileProof, { readonly status: 'ok' | 'deleted' }>,
    fileId: string,
  ): Promise<void> {
    const { events } = await evidences.get(scope, 'e-1', { disclose: true })
    const event = events.find(({ txId }) => txId === proof.txId)
    const disclosed = event?.disclosure?.files[fileId]
    const committed = (JSON.parse(proof.filesText) as Record<string, string>)[fileId]
    if (disclosed !== undefined) assert.equal(saltedHash('er1.file', disclosed), committed)
    const files = saltedHash('er1.files', { salt: proof.filesSalt, text: proof.filesText })
    assert.equal(proof.opening.slice(-64), files)
    assert.equal(H(bytes(proof.opening)).toString('hex'), proof.txId)
    assert.equal(recompute(event?.disclosure as NonNullable<typeof event>['disclosure'] & object).txId, proof.txId)
  }

  it('proves the event that attached the file', async (fixture) => {
    const { registry, scope, stage, evidence, clock } = fixture
    const [one, two] = [await stage('one'), await stage('two')]
    await evidence({ files: [one] })
    await clock.advance(1_000)
    await registry.evidences.update(scope, 'e-1', { files: [two] })
    const pending = await registry.proofs.file({ evidenceId: 'e-1', fileId: two.id })
    assert.deepEqual(
      [pending.status, pending.evidenceId, pending.fileId, 'merkle' in pending],
      ['pending', 'e-1', two.id, false],
    )
    await registry.sealNow()
    const { events, evidence: stored } = await registry.evidences.get(scope, 'e-1')
    for (const [i, { id }] of [one, two].entries()) {
      const proof = withStatus(await registry.proofs.file({ evidenceId: stored.id, fileId: id }), 'ok')
      validate(FileProof, proof)
      assert.deepEqual([proof.txId, proof.eventTimestamp], [events[i]?.txId, events[i]?.recordedAt.toISOString()])
      assert.equal(rootOf(proof.txId, proof.merkle.proof), proof.merkle.merkleRoot)
      await assertBound(fixture, proof, id)
    }
  })

  it('has status deleted, still verifies, and contains the deletion', async (fixture) => {
    const { registry, scope, stage, evidence } = fixture
    const file = await stage('one')
    await evidence({ files: [file, await stage('two')] })
    await registry.sealNow()
    const attached = await registry.proofs.file({ evidenceId: 'e-1', fileId: file.id })
    await registry.files.delete(scope, { fileId: file.id })
    const between = withStatus(await registry.proofs.file({ evidenceId: 'e-1', fileId: file.id }), 'deleted')
    assert.equal('merkle' in between.deletion, false)
    await registry.sealNow()
    const gone = withStatus(await registry.proofs.file({ evidenceId: 'e-1', fileId: file.id }), 'deleted')
    validate(FileProof, gone)
    const { deletion, ...rest } = gone
    assert.deepEqual({ ...rest, status: 'ok' }, attached)
    const { events } = await registry.evidences.get(scope, 'e-1')
    assert.deepEqual([deletion.txId, deletion.eventTimestamp], [events[1]?.txId, events[1]?.recordedAt.toISOString()])
    assert.equal(rootOf(deletion.txId, deletion.merkle?.proof ?? []), deletion.merkle?.merkleRoot)
    await assertBound(fixture, gone, file.id)
  })

  it('is not found for a file of another evidence, of a category, or for an unknown id', async (fixture) => {
    const { registry, scope, stage, evidence } = fixture
    const [file, other, icon] = [await stage(), await stage(), await stage()]
    await evidence({ files: [file] })
    await evidence({ externalId: 'e-2', files: [other] })
    await registry.categories.create(scope, { name: 'icon', image: icon })
    for (const id of [other.id, icon.id, '01890000-0000-7000-8000-000000000000']) {
      for (const evidenceId of ['e-1', (await registry.evidences.get(scope, 'e-1')).evidence.id]) {
        const answer = withStatus(await registry.proofs.file({ evidenceId, fileId: id }), 'not_found')
        assert.deepEqual([answer.code, answer.evidenceId], ['FILE_NOT_FOUND', 'e-1'])
      }
    }
    assert.equal(
      withStatus(await registry.proofs.file({ evidenceId: 'none', fileId: file.id }), 'not_found').code,
      'EVIDENCE_NOT_FOUND',
    )
    for (const id of ['', 'x', `${file.id} `]) {
      const answer = await registry.proofs.file({ evidenceId: 'e-1', fileId: id })
      assert.equal(withStatus(answer, 'invalid').code, 'VALIDATION_ERROR')
    }
  })
})

describe('the proof of a txid', () => {
  it('is invalid for a malformed txId, and not_found for an unknown one', async ({ registry: { proofs } }) => {
    for (const txId of ['', 'x', 'a'.repeat(63), 'a'.repeat(65), `${'a'.repeat(63)}g`]) {
      assert.equal(withStatus(await proofs.transaction(txId), 'invalid').code, 'VALIDATION_ERROR')
      assert.equal(withStatus(await proofs.root(txId), 'invalid').code, 'VALIDATION_ERROR')
    }
    assert.equal(withStatus(await proofs.transaction('a'.repeat(64)), 'not_found').code, 'NOT_FOUND')
    assert.equal(withStatus(await proofs.root('a'.repeat(64)), 'not_found').code, 'NOT_FOUND')
    for (const batchId of ['', 'x', '01890000-0000-7000-8000-000000000000'])
      await rejectsWith('BATCH_NOT_FOUND', proofs.timestampToken(batchId))
  })

  it('has no token if nothing was stamped', async ({ registry, evidence, scope }) => {
    await evidence()
    await registry.sealNow()
    const { txId } = (await registry.evidences.get(scope, 'e-1')).evidence
    const { batchId } = withStatus(await registry.proofs.transaction(txId), 'ok')
    await rejectsWith('BATCH_NOT_FOUND', registry.proofs.timestampToken(batchId))
  })
})

describe('validating a proof', () => {
  /**
   * Two batches: entries 0 to 5 and 6 to 8. Gives proofs of entry 3 in the first, of 6 and 7 in the second, and a
   * pending txId.
   */
  async function sealedTwice({ registry, evidence, scope }: Fixture) {
    for (let i = 1; i <= 5; i++) await evidence({ externalId: `e-${i}` })
    await registry.sealNow()
    for (let i = 6; i <= 8; i++) await evidence({ externalId: `e-${i}` })
    await registry.sealNow()
    await evidence({ externalId: 'pending' })
    const proofOf = async (externalId: string) => {
      const { txId } = (await registry.evidences.get(scope, externalId)).evidence
      const { merkleRoot, proof, treeSize } = withStatus(await registry.proofs.transaction(txId), 'ok')
      return { txId, merkleRoot, proof, treeSize }
    }
    const [early, next, late] = [await proofOf('e-3'), await proofOf('e-6'), await proofOf('e-7')]
    const path = await registry.log.inclusionProof({ leafIndex: 3, treeSize: late.treeSize })
    const later = { ...late, txId: early.txId, proof: path.map((hash) => ({ hash: toHex(hash) })) }
    const pending = (await registry.evidences.get(scope, 'pending')).evidence.txId
    return { early, next, late, later, pending }
  }
  const bare = (proof: readonly ProofItem[]): { hash: string }[] => proof.map(({ hash }) => ({ hash }))
  const flipped = (proof: readonly ProofItem[]): ProofItem[] =>
    proof.map(({ hash, position }) => ({ hash, position: position === 'left' ? 'right' : 'left' }))
  const other = (hash: string): string => (hash.startsWith('0') ? `1${hash.slice(1)}` : `0${hash.slice(1)}`)

  /** A path and the root to which it leads. */
  const pathOf = (txId: string, proof: readonly ProofItem[]) => ({ txId, merkleRoot: rootOf(txId, proof), proof })
  const invented = pathOf('ab'.repeat(32), [{ hash: 'cd'.repeat(32), position: 'right' }])

  type Request = (of: Awaited<ReturnType<typeof sealedTwice>>) => MerkleValidationRequest
  const cases: readonly [string, Request, Partial<MerkleValidation>][] = [
    ['a path with positions', ({ early }) => early,
      { status: 'ok', valid: true, txIdKnown: true, rootKnown: true, sendStatus: 'P' }],
    ['a path without', ({ early }) => ({ ...early, proof: bare(early.proof) }), { status: 'ok', valid: true }],
    ['a path with some', ({ late }) => ({ ...late, proof: [...bare(late.proof.slice(0, 2)), ...late.proof.slice(2)] }),
      { status: 'ok', valid: true }],
    ['a path with some that are wrong',
      ({ late }) => ({ ...late, proof: [...flipped(late.proof.slice(0, 1)), ...bare(late.proof.slice(1))] }),
      { status: 'ok', valid: false }],
    ['positions that are turned round', ({ early }) => ({ ...early, proof: flipped(early.proof) }),
      { status: 'ok', valid: false }],
    ['another hash',
      ({ early }) => ({
        ...early,
        proof: early.proof.map((item, i) => (i === 1 ? { ...item, hash: other(item.hash) } : item)),
      }),
      { status: 'ok', valid: false, rootKnown: true }],
    ['a hash too few', ({ early }) => ({ ...early, proof: bare(early.proof.slice(1)) }),
      { status: 'ok', valid: false }],
    ['a hash too many', ({ early }) => ({ ...early, proof: [...bare(early.proof), { hash: early.txId }] }),
      { status: 'ok', valid: false }],
    ['the root of the batch after', ({ early, late }) => ({ ...early, merkleRoot: late.merkleRoot }),
      { status: 'ok', valid: false, rootKnown: true }],
    ['the root of the batch before',
      ({ early, late }) => ({ ...late, merkleRoot: early.merkleRoot, proof: bare(late.proof) }),
      { status: 'ok', valid: false, rootKnown: true }],
    ['no proof at all', ({ early }) => ({ ...early, proof: [] }), { status: 'ok', valid: false, txIdKnown: true }],
    ['an invented root', ({ early }) => ({ ...early, merkleRoot: other(early.merkleRoot) }),
      { status: 'unknown_root', valid: false, rootKnown: false }],
    ['an invented root without positions',
      ({ early }) => ({ ...early, merkleRoot: other(early.merkleRoot), proof: bare(early.proof) }),
      { status: 'unknown_root', valid: false }],
    ['an unknown txId without positions',
      ({ early }) => ({ ...early, txId: other(early.txId), proof: bare(early.proof) }),
      { status: 'not_found', valid: false, txIdKnown: false }],
    ['an unknown txId and no proof', ({ early }) => ({ ...early, txId: other(early.txId), proof: [] }),
      { status: 'not_found', valid: false }],
    ['an unknown txId with positions', ({ early }) => ({ ...early, txId: other(early.txId) }),
      { status: 'ok', valid: false, txIdKnown: false, rootKnown: true }],
    ['a pending txId without positions',
      ({ early, pending }) => ({ ...early, txId: pending, proof: bare(early.proof) }),
      { status: 'pending', valid: false, txIdKnown: true }],
    ['a pending txId and an invented root',
      ({ early, pending }) => ({ txId: pending, merkleRoot: other(early.merkleRoot), proof: bare(early.proof) }),
      { status: 'unknown_root', valid: false }],
    ['a path to an invented root', () => invented,
      { status: 'unknown_root', valid: true, txIdKnown: false, rootKnown: false }],
    ['a path that is not at the place of the txId', ({ early: { txId, proof } }) => pathOf(txId, flipped(proof)),
      { status: 'unknown_root', valid: false }],
    ['a path to a later sealed root', ({ later }) => later, { status: 'ok', valid: true }],
  ] // prettier-ignore
  for (const [what, request, expected] of cases)
    it(`${what} is ${expected.status}, ${expected.valid ? 'valid' : 'not valid'}`, async (fixture) => {
      const input = request(await sealedTwice(fixture))
      const { txId, merkleRoot, proof } = input
      const answer = await fixture.registry.proofs.validate({ txId, merkleRoot, proof })
      validate(MerkleValidation, answer)
      for (const [name, value] of Object.entries(expected)) assert.equal(answer[name as 'status'], value, name)
      assert.equal(answer.expectedRoot, merkleRoot)
      assert.equal('error' in answer, answer.status !== 'ok' || !answer.valid)
      assert.equal('code' in answer, 'error' in answer)
      // The root is recomputed from the caller's hashes whenever that is possible.
      if (proof.length > 0 && proof.every(({ position }) => position !== undefined))
        assert.equal('computedRoot' in answer && answer.computedRoot, rootOf(txId, proof as ProofItem[]))
      if (answer.valid) assert.equal('computedRoot' in answer && answer.computedRoot, merkleRoot)
    })

  it('recomputes the root also if the request names an earlier root', async (fixture) => {
    const { early, next, late } = await sealedTwice(fixture)
    for (const { txId, proof } of [next, late]) {
      const input = { txId, merkleRoot: early.merkleRoot, proof: bare(proof) }
      const answer = withStatus(await fixture.registry.proofs.validate(input), 'ok')
      assert.equal(answer.computedRoot, late.merkleRoot)
    }
  })

  it('rejects malformed requests', async ({ registry: { proofs } }) => {
    const hash = 'a'.repeat(64)
    const wrong = [
      {},
      { txId: hash, merkleRoot: hash },
      { txId: `0y${hash}`, merkleRoot: hash, proof: [] },
      { txId: hash, merkleRoot: null, proof: [] },
      { txId: hash, merkleRoot: 'x', proof: [] },
      { txId: hash, merkleRoot: hash, proof: [{}] },
      { txId: hash, merkleRoot: hash, proof: [{ hash, position: 'up' }] },
      { txId: hash, merkleRoot: hash, proof: Array.from({ length: 65 }, () => ({ hash })) },
    ]
    for (const request of wrong) await rejectsWith('VALIDATION_ERROR', proofs.validate(request as never))
    await proofs.validate({ txId: hash, merkleRoot: hash, proof: Array.from({ length: 64 }, () => ({ hash })) })
  })
})

describe('public documents', () => {
  it('never contain a name, owner, text, meta, company, category, key, or data of a file', async (fixture) => {
    const { registry, system, evidence: _evidence } = fixture
    // Every value that the tenant gives contains a mark, which is searched for in several encodings.
    const mark = 'Geheim'
    let marks = 0
    const planted = (): string => `${mark}${marks++}`
    const company = planted()
    validate(CompanyId, company)
    const { scope, apiKey } = await system('U', company)
    const stageIn = (name: string, content: string) =>
        registry.files.stage(
          scope,
          {
            name, mimeType: `text/${planted()}`, title: planted(),
            body: (async function* () { yield Buffer.from(content) })(),
          },
          { maxBytes: 1_000 },
        ) // prettier-ignore
    const contents = [planted(), planted(), planted()]
    const [image, file, deleted] = [
      await stageIn(planted(), contents[0] as string),
      await stageIn(planted(), contents[1] as string),
      await stageIn(planted(), contents[2] as string),
    ]
    const input = {
        externalId: 'public-id', name: planted(), owner: planted(), description: planted(), summary: planted(),
        meta: { [planted()]: planted() }, category: { name: planted() }, subcategory: { name: planted() },
      } // prettier-ignore
    await registry.evidences.create(scope, { ...input, image, files: [file, deleted] })
    await registry.evidences.update(scope, 'public-id', {
        owner: planted(), description: planted(), meta: { x: planted() }, updateDescription: planted(),
        persona: planted(), eventDescription: planted(), updateType: 'stolen',
      }) // prettier-ignore
    await registry.files.delete(scope, { fileId: deleted.id })
    await registry.sealNow()
    const { evidence: stored, events } = await registry.evidences.get(scope, 'public-id', { disclose: true })
    const { proofs } = registry
    const documents: unknown[] = [
      await proofs.evidence({ evidenceId: 'public-id' }),
      await proofs.evidence({ evidenceId: stored.id, companyId: company }),
    ]
    for (const { id } of [image, file, deleted])
      documents.push(await proofs.file({ evidenceId: stored.id, fileId: id }))
    for (const { txId } of events) {
      const proof = withStatus(await proofs.transaction(txId), 'ok')
      const { merkleRoot, proof: path } = proof
      documents.push(proof, await proofs.root(txId))
      documents.push(await proofs.validate({ txId, merkleRoot, proof: path }))
    }
    const size = registry.status().sealedSize
    documents.push(await registry.log.openings({ index: 0, width: size }), await registry.log.latestCheckpoint())
    documents.push(Buffer.from((await registry.log.entryBundle({ index: 0, width: size })) ?? []).toString('hex'))
    documents.push(Buffer.from((await registry.log.tile({ level: 0, index: 0, width: size })) ?? []).toString('hex'))
    const text = JSON.stringify(documents)
    assert.ok(text.includes(stored.txId) && text.includes(file.id))

    const secrets = [mark, apiKey, stored.categoryId, stored.subcategoryId]
    for (const staged of [image, file, deleted]) secrets.push(staged.sha256)
    const slotKey = JSON.parse(events[0]?.disclosure?.fields['slotKey']?.text ?? '') as [string, string]
    secrets.push(slotKey[1])
    for (const { disclosure } of events) {
      for (const { salt } of Object.values(disclosure?.fields ?? {})) secrets.push(salt)
      // The entry of a deletion is public: it holds only the file's id and the txId of the event that attached it.
      for (const { text: entry, salt } of Object.values(disclosure?.files ?? {}))
        if (!('deleted' in (JSON.parse(entry) as object))) secrets.push(salt)
      secrets.push(
        ...Object.values((JSON.parse(disclosure?.header ?? '') as { fields: Record<string, string> }).fields),
      )
    }
    if (scope.principal.kind === 'sourceSystem') secrets.push(scope.principal.id)
    for (const secret of secrets)
      for (const spelled of [
        secret,
        Buffer.from(secret).toString('hex'),
        Buffer.from(secret).toString('base64').replace(/=+$/, ''),
      ])
        assert.ok(!text.includes(spelled), `an answer shows ${secret}`)
    assert.ok(marks > 20 && secrets.length > 40)
    // The same search finds the mark in what a key holder gets.
    assert.ok(JSON.stringify(events).includes(mark))
  })

  it('are not returned if a stored tile is damaged', async ({ stores, registry, evidence, scope }) => {
    await evidence({ externalId: 'e-1' })
    // A tile of leaves is stored once it is full.
    await Promise.all(Array.from({ length: 256 }, (_, i) => evidence({ externalId: `other ${i}` })))
    await registry.sealNow()
    const { records } = stores
    const change = async (key: string, edit: (value: Uint8Array) => void): Promise<() => Promise<void>> => {
      const [stored] = await records.get([key])
      assert.ok(stored)
      const value = stored.value.slice()
      edit(value)
      await records.commit({ writes: [{ key, value }] })
      return async () => void (await records.commit({ writes: [{ key, value: stored.value }] }))
    }
    // The first leaf, which is the key's. It is the sibling of the first event.
    const restore = await change(logKeys.tile(0, 0), (value) => (value[8] = (value[8] ?? 0) ^ 1))
    const fresh = await openFixture({ stores })
    const { proofs } = fresh.registry
    await assert.rejects(proofs.evidence({ evidenceId: 'e-1' }), { code: 'CORRUPT' })
    await assert.rejects(proofs.publicBundle({ evidenceId: 'e-1' }), { code: 'CORRUPT' })
    const whole = { externalId: 'e-1', fields: 'all', files: 'none' } as const
    await assert.rejects(proofs.bundle(scope, whole), { code: 'CORRUPT' })
    await fresh.close()
    await restore()
    const again = await openFixture({ stores })
    withStatus(await again.registry.proofs.evidence({ evidenceId: 'e-1' }), 'ok')
    withStatus(await again.registry.proofs.publicBundle({ evidenceId: 'e-1' }), 'ok')
    const page = await again.registry.evidences.get(scope, 'e-1', { disclose: true })
    assert.ok(page.events[0]?.disclosure)
    await again.close()
  })

  it('are not pending if the store has lost the checkpoint of their batch', async (fixture) => {
    const { stores, registry, evidence, scope } = fixture
    await evidence()
    await registry.sealNow()
    const size = registry.status().sealedSize
    await stores.records.commit({ writes: [{ key: logKeys.checkpoint(size), value: null }] })
    const fresh = await openFixture({ stores })
    // If there is no later batch, the last one may be unsigned. The start signs it.
    withStatus(await fresh.registry.proofs.evidence({ evidenceId: 'e-1' }), 'ok')
    await evidence({ externalId: 'e-2' })
    await registry.sealNow()
    await stores.records.commit({ writes: [{ key: logKeys.checkpoint(size), value: null }] })
    await fresh.close()
    const again = await openFixture({ stores })
    const whole = { externalId: 'e-1', fields: 'all', files: 'none' } as const
    await assert.rejects(again.registry.proofs.evidence({ evidenceId: 'e-1' }), { code: 'CORRUPT' })
    await assert.rejects(again.registry.proofs.bundle(scope, whole), { code: 'CORRUPT' })
    withStatus(await again.registry.proofs.evidence({ evidenceId: 'e-2' }), 'ok')
    await again.close()
  })
})
