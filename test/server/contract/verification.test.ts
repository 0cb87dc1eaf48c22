import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { verifyTimestamp } from '../../../core/verify/tokens.ts'
import { formOf } from '../../support/form.ts'
import { startService, type ServiceResponse, type Company, type Service } from '../../support/service.ts'

const PLACE = { categoryName: 'Vehicles', subcategoryName: 'Cars' }
const sha256 = (...parts: Uint8Array[]): Buffer => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

describe('verification', () => {
  let service: Service
  let company: Company
  let at: { key: string; params: { COMPANY_ID: string } }
  let id: string
  let txId: string
  let fileId: string
  before(async () => {
    service = await startService()
    company = await service.company('acme')
    at = { key: company.keys.U, params: { COMPANY_ID: company.id } }
    const form = formOf(
      { ...PLACE, externalId: 'car/1', name: 'Secret name', owner: 'Secret owner', meta: '{"secret":"meta"}' },
      [['images', 'secret-file.txt', 'secret content']],
    )
    ;({ id, txId } = await service.ok('createEvidence', { ...at, form }))
    const { dt } = await service.ok('listEvidenceFiles', {
      ...at,
      params: { ...at.params, EVIDENCE_EXTERNAL_ID: 'car/1' },
    })
    fileId = dt[0].overlayId
    const isComplete = ({ merkle, tsa }: ServiceResponse['body']): boolean =>
      merkle?.sendStatus === 'C' && tsa !== undefined
    await service.until(async () => isComplete(await proof()), 'the anchor is confirmed, and the stamp is there')
  })
  after(() => service.close())

  const verify = (evidenceId: string, query?: Record<string, string>): Promise<ServiceResponse> =>
    service.call('verifyEvidence', { params: { evidenceId }, ...(query && { query }) })
  const proof = async (): Promise<ServiceResponse['body']> => (await verify('car/1')).body
  const update = (json: object): Promise<ServiceResponse['body']> =>
    service.ok('updateEvidence', { ...at, params: { ...at.params, EVIDENCE_EXTERNAL_ID: 'car/1' }, json })

  it('20: proves an evidence by either id: leaf, path, root, checkpoint, stamp, anchor', async () => {
    const { status, body } = await verify('car/1')
    assert.equal(status, 200)
    assert.deepEqual(
      [body.status, body.evidenceId, body.txId, body.fileCount, body.blockNumber],
      ['ok', 'car/1', txId, 1, body.merkle.anchor.blockNumber],
    )
    assert.deepEqual((await verify(id)).body, body)
    assert.equal(sha256(Buffer.from(body.opening, 'hex')).toString('hex'), txId)
    assert.equal(rootOf(txId, body.merkle.proof), body.merkle.merkleRoot)
    const [origin, size, root] = body.merkle.checkpoint.split('\n')
    assert.deepEqual(
      [origin, Number(size), Buffer.from(root, 'base64').toString('hex')],
      [service.registry.log.origin, body.merkle.treeSize, body.merkle.merkleRoot],
    )
    const { anchor } = body.merkle
    assert.deepEqual(
      [anchor.type, anchor.network, anchor.chainId, anchor.treeSize >= body.merkle.treeSize],
      ['local', 'local', 0, true],
    )
    assert.deepEqual(
      [body.tsa.authority, body.tsa.hashAlgorithm, body.tsa.imprint],
      ['local', 'sha256', sha256(Buffer.from(body.tsa.checkpoint)).toString('hex')],
    )
    assert.deepEqual([body.assurance.time, body.assurance.anchor], ['operator', 'operator'])
  })

  it('20: reveals nothing of the content', async () => {
    const { text } = await verify('car/1')
    for (const secret of [
      'Secret',
      'secret',
      'Vehicles',
      'Cars',
      'acme',
      sha256(Buffer.from('secret content')).toString('hex'),
    ])
      assert.ok(!text.includes(secret), secret)
    const file = await service.call('verifyFile', { params: { evidenceId: 'car/1', fileId } })
    for (const secret of ['Secret', 'secret', 'text/plain', sha256(Buffer.from('secret content')).toString('hex')])
      assert.ok(!file.text.includes(secret), secret)
  })

  it('21: proves a file, and its deletion', async () => {
    const { status, body } = await service.call('verifyFile', { params: { evidenceId: 'car/1', fileId } })
    assert.deepEqual([status, body.status, body.fileId, body.evidenceId, body.txId], [200, 'ok', fileId, 'car/1', txId])
    assert.ok(JSON.parse(body.filesText)[fileId])
    const [other] = await attach('deleted')
    await service.ok('deleteFile', { ...at, query: { fileId: other as string } })
    const deleted = await service.call('verifyFile', { params: { evidenceId: 'deleted', fileId: other as string } })
    assert.deepEqual(
      [deleted.status, deleted.body.status, typeof deleted.body.deletion.txId],
      [200, 'deleted', 'string'],
    )
    const wrong: [string, string, number, string][] = [
      ['car/1', other as string, 404, 'not_found'],
      ['none', fileId, 404, 'not_found'],
      ['car/1', 'no-uuid', 400, 'invalid'],
    ]
    for (const [evidenceId, file, code, said] of wrong) {
      const answer = await service.call('verifyFile', { params: { evidenceId, fileId: file } })
      assert.deepEqual([answer.status, answer.body.status], [code, said])
      assert.ok(answer.body.error && answer.body.code)
    }
  })

  async function attach(externalId: string): Promise<string[]> {
    await service.ok('createEvidence', {
      ...at,
      form: formOf({ ...PLACE, externalId, name: 'x' }, [['images', 'a', 'a']]),
    })
    const { dt } = await service.ok('listEvidenceFiles', {
      ...at,
      params: { ...at.params, EVIDENCE_EXTERNAL_ID: externalId },
    })
    return dt.map(({ overlayId }: { overlayId: string }) => overlayId)
  }

  it('20: an id that several companies use is ambiguous unless the request names a company', async () => {
    const other = await service.company('other')
    await service.ok('createEvidence', {
      key: other.keys.I,
      params: { COMPANY_ID: 'other' },
      json: { ...PLACE, externalId: 'car/1', name: 'x' },
    })
    const ambiguous = await verify('car/1')
    assert.deepEqual([ambiguous.status, ambiguous.body.status, ambiguous.body.txId], [409, 'ambiguous', undefined])
    const { candidates, error } = ambiguous.body
    assert.deepEqual([candidates[0].id, candidates[0].txId, candidates.length], [id, txId, 2])
    for (const way of ['internal id', '?txId=', '?companyId=']) assert.ok(error.includes(way), way)
    for (const candidate of candidates) {
      assert.equal((await verify('car/1', { txId: candidate.txId })).body.txId, candidate.txId)
      assert.equal((await verify(candidate.id.toUpperCase())).body.txId, candidate.txId)
    }
    assert.deepEqual(
      [(await verify('car/1', { txId: 'x' })).status, (await verify(id, { companyId: 'ghost' })).status],
      [400, 404],
    )
    assert.equal((await verify('car/1', { companyId: 'acme' })).body.txId, txId)
    assert.equal((await verify(id)).body.txId, txId)
    assert.equal((await service.call('verifyFile', { params: { evidenceId: 'car/1', fileId } })).status, 409)
    assert.equal(
      (await service.call('verifyFile', { params: { evidenceId: 'car/1', fileId }, query: { companyId: 'acme' } })).body
        .status,
      'ok',
    )
    assert.deepEqual(
      [(await verify('car/1', { companyId: 'unknown' })).status, (await verify('none')).status],
      [404, 404],
    )
  })

  it('22: returns a path that leads to the root, and distinguishes unknown from malformed ids', async () => {
    const { status, body } = await service.call('getProof', { params: { txid: txId } })
    assert.deepEqual([status, body.status, body.txId, rootOf(txId, body.proof)], [200, 'ok', txId, body.merkleRoot])
    assert.ok(Number.isInteger(body.leafIndex) && body.leafIndex < body.treeSize)
    const unknown = await service.call('getProof', { params: { txid: 'ab'.repeat(32) } })
    assert.deepEqual([unknown.status, unknown.body.status], [404, 'not_found'])
    for (const txid of [txId.toUpperCase(), `0x${txId}`, `0X${txId}`])
      assert.equal((await service.ok('getProof', { params: { txid } })).txId, txId)
    for (const txid of ['short', 'XY'.repeat(32), `0x${txId}00`]) {
      const invalid = await service.call('getProof', { params: { txid } })
      assert.deepEqual([invalid.status, invalid.body.status], [400, 'invalid'])
    }
  })

  it('19: recomputes the root from the hashes of the request', async () => {
    const { body } = await service.call('getProof', { params: { txid: txId } })
    const request = { txId, merkleRoot: body.merkleRoot, proof: body.proof }
    const validate = (json: object): Promise<ServiceResponse['body']> => service.ok('validateProof', { json })
    const right = await validate(request)
    assert.deepEqual(
      [right.status, right.valid, right.computedRoot, right.expectedRoot, right.txIdKnown, right.rootKnown],
      ['ok', true, body.merkleRoot, body.merkleRoot, true, true],
    )
    assert.equal(
      (await validate({ ...request, proof: body.proof.map(({ hash }: { hash: string }) => ({ hash })) })).valid,
      true,
    )
    const wrongHash = [{ ...body.proof[0], hash: 'ab'.repeat(32) }, ...body.proof.slice(1)]
    assert.deepEqual([(await validate({ ...request, proof: wrongHash })).valid], [false])
    assert.equal((await validate({ ...request, proof: [] })).valid, false)
    const invented = sha256(Buffer.from('invented')).toString('hex')
    const unknownRoot = await validate({ txId: invented, merkleRoot: rootOf(invented, body.proof), proof: body.proof })
    assert.deepEqual([unknownRoot.status, unknownRoot.rootKnown], ['unknown_root', false])
    const unknown = await validate({
      txId: invented,
      merkleRoot: body.merkleRoot,
      proof: body.proof.map(({ hash }: { hash: string }) => ({ hash })),
    })
    assert.deepEqual([unknown.status, unknown.valid], ['not_found', false])
  })

  it('19: accepts the responses of 20 and 22 as they are, and hex in every spelling', async () => {
    const { body } = await service.call('getProof', { params: { txid: txId } })
    const { merkle } = (await verify(id)).body
    const upper = (hash: string): string => `0X${hash.toUpperCase()}`
    const spelled = {
      txId: upper(txId),
      merkleRoot: upper(body.merkleRoot),
      proof: body.proof.map(({ hash, position }: { hash: string; position: string }) => ({
        hash: upper(hash),
        position,
      })),
      note: null,
    }
    for (const json of [body, { ...merkle, txId }, spelled]) {
      const { status, valid, expectedRoot } = await service.ok('validateProof', { json })
      assert.deepEqual([status, valid, expectedRoot], ['ok', true, body.merkleRoot])
    }
  })

  it('19: rejects malformed requests, with a status', async () => {
    const hash = 'ab'.repeat(32)
    const bad: unknown[] = [
      {},
      { txId: hash, merkleRoot: hash },
      { txId: 'x', merkleRoot: hash, proof: [] },
      { txId: hash, merkleRoot: hash, proof: [{ hash, position: 'up' }] },
      { txId: hash, merkleRoot: hash, proof: Array.from({ length: 65 }, () => ({ hash })) },
      [],
      '"text"',
    ]
    for (const json of bad) {
      const { body } = await service.fails('validateProof', 400, 'VALIDATION_ERROR', { json })
      assert.equal(body.status, 'invalid')
    }
    await service.fails('validateProof', 400, 'MALFORMED_BODY', { json: '{' })
    const withNote = (length: number): object => ({ txId: hash, merkleRoot: hash, proof: [], note: 'x'.repeat(length) })
    await service.ok('validateProof', { json: withNote(60_000) })
    await service.fails('validateProof', 413, 'PAYLOAD_TOO_LARGE', { json: withNote(64 * 1024) })
    await service.fails('validateProof', 415, 'UNSUPPORTED_MEDIA_TYPE', {
      json: '{}',
      headers: { 'content-type': 'text/plain' },
    })
  })

  it('is pending before it is sealed', async () => {
    const quiet = await startService({ sealMaxWaitMs: 3_600_000 })
    try {
      const { keys } = await quiet.company('acme')
      const created = await quiet.ok('createEvidence', {
        key: keys.I,
        params: { COMPANY_ID: 'acme' },
        json: { ...PLACE, externalId: 'e', name: 'x' },
      })
      const evidence = await quiet.call('verifyEvidence', { params: { evidenceId: 'e' } })
      assert.deepEqual([evidence.status, evidence.body.status, evidence.body.merkle], [200, 'pending', undefined])
      assert.equal((await quiet.call('getProof', { params: { txid: created.txId } })).body.status, 'pending')
      const page = await quiet.ok('getEvidence', {
        key: keys.R,
        params: { COMPANY_ID: 'acme', EVIDENCE_EXTERNAL_ID: 'e' },
      })
      assert.deepEqual([page.events[0].merkleBatchId, page.events[0].merkleSendStatus], [null, null])
      await quiet.registry.sealNow()
      assert.equal((await quiet.call('verifyEvidence', { params: { evidenceId: 'e' } })).body.status, 'ok')
    } finally {
      await quiet.close()
    }
  })

  it('returns the root of a transaction and the token of its batch', async () => {
    const { body } = await service.call('getRoot', { params: { txid: txId } })
    assert.deepEqual(
      [body.status, body.sendStatus, body.merkleRoot],
      ['ok', 'C', (await service.call('getProof', { params: { txid: txId } })).body.merkleRoot],
    )
    assert.ok(body.txidCount >= 1 && body.treeDepth >= 1 && body.tsaGenTime && body.tsaSerial && body.tsaPolicy)
    const response = await service.fetch(`/api/v1/merkle/tsa/${body.batchId}`)
    assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'application/timestamp-reply'])
    const token = Buffer.from(await response.arrayBuffer())
    const { tsa } = (await verify(id)).body
    assert.equal(token.toString('base64'), tsa.token)
    const ca = new X509Certificate(await readFile(join(service.directory, 'tsa', 'ca.pem')))
    const verified = verifyTimestamp(new Uint8Array(token), {
      data: new Uint8Array(Buffer.from(tsa.checkpoint)),
      trustAnchors: [new Uint8Array(ca.raw)],
    })
    assert.deepEqual([new Date(verified.genTime).toISOString(), verified.serialNumber], [tsa.genTime, tsa.serialNumber])
    await service.fails('getTimestampToken', 404, 'BATCH_NOT_FOUND', { params: { batchId: id } })
    assert.deepEqual(
      [
        (await service.call('getRoot', { params: { txid: 'x' } })).status,
        (await service.call('getRoot', { params: { txid: 'ab'.repeat(32) } })).status,
      ],
      [400, 404],
    )
  })

  it('a proof stays valid after later changes', async () => {
    const first = await verify(id)
    await update({ summary: 'later' })
    await service.until(async () => service.registry.status().sealedSize > first.body.merkle.treeSize, 'a later batch')
    const { merkle, txId: same } = (await verify(id)).body
    assert.deepEqual(
      [same, merkle.merkleRoot, merkle.leafIndex],
      [txId, first.body.merkle.merkleRoot, first.body.merkle.leafIndex],
    )
  })
})

/** Computes the root from a path with sides. */
function rootOf(txId: string, proof: readonly { hash: string; position: string }[]): string {
  let node = sha256(Buffer.of(0), Buffer.from(txId, 'hex'))
  for (const { hash, position } of proof) {
    const sibling = Buffer.from(hash, 'hex')
    node = position === 'left' ? sha256(Buffer.of(1), sibling, node) : sha256(Buffer.of(1), node, sibling)
  }
  return node.toString('hex')
}
