import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { verifyTimestamp } from '../../../core/verify/tokens.ts'
import { CompanyRequests, of, VEHICLE_CATEGORY } from '../../support/company-requests.ts'
import { formOf } from '../../support/form.ts'
import type { ServiceResponse } from '../../support/service.ts'

type Body = ServiceResponse['body']
type Query = Readonly<Record<string, string>>

const UNKNOWN_HASH = 'ab'.repeat(32)
const sha256 = (...parts: Uint8Array[]): Buffer => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

describe('verification', () => {
  const acme = new CompanyRequests()
  let id: string
  let txId: string
  let fileId: string
  before(async () => {
    const secrets = { name: 'Secret name', owner: 'Secret owner', meta: '{"secret":"meta"}' }
    const form = formOf({ ...VEHICLE_CATEGORY, externalId: 'car/1', ...secrets }, [
      ['images', 'secret-file.txt', 'secret content'],
    ])
    ;({ id, txId } = await acme.ok('createEvidence', { form }))
    fileId = (await acme.files('car/1'))[0].overlayId
    const isComplete = async (): Promise<boolean> => {
      const { merkle, tsa } = (await verify('car/1')).body
      return merkle?.sendStatus === 'C' && tsa !== undefined
    }
    await acme.service.until(isComplete, 'the anchor is confirmed, and the stamp is there')
  })

  const get = (operation: string, params: Query, query: Query = {}): Promise<ServiceResponse> =>
    acme.service.call(operation, { params, query })
  const verify = (evidenceId: string, query?: Query) => get('verifyEvidence', { evidenceId }, query)
  const verifyFile = (evidenceId: string, file: string, query?: Query) =>
    get('verifyFile', { evidenceId, fileId: file }, query)

  it('20: proves an evidence by either id: leaf, path, root, checkpoint, stamp, anchor', async () => {
    const { status, body } = await verify('car/1')
    const { merkle, tsa, assurance } = body
    assert.deepEqual(
      [status, body.status, body.evidenceId, body.txId, body.fileCount, body.blockNumber],
      [200, 'ok', 'car/1', txId, 1, merkle.anchor.blockNumber],
    )
    assert.deepEqual((await verify(id.toUpperCase())).body, body)
    assert.equal(sha256(Buffer.from(body.opening, 'hex')).toString('hex'), txId)
    assert.equal(rootOf(txId, merkle.proof), merkle.merkleRoot)
    const [origin, size, root] = merkle.checkpoint.split('\n')
    assert.deepEqual(
      [origin, Number(size), Buffer.from(root, 'base64').toString('hex')],
      [acme.service.registry.log.origin, merkle.treeSize, merkle.merkleRoot],
    )
    const { type, network, chainId, treeSize } = merkle.anchor
    assert.deepEqual([type, network, chainId, treeSize >= merkle.treeSize], ['local', 'local', 0, true])
    const imprint = sha256(Buffer.from(tsa.checkpoint)).toString('hex')
    assert.deepEqual([tsa.authority, tsa.hashAlgorithm, tsa.imprint], ['local', 'sha256', imprint])
    assert.deepEqual([assurance.time, assurance.anchor], ['operator', 'operator'])
  })

  it('20, 21: reveals nothing of the content', async () => {
    const texts = [(await verify('car/1')).text, (await verifyFile('car/1', fileId)).text]
    const hash = sha256(Buffer.from('secret content')).toString('hex')
    for (const secret of ['Secret', 'secret', 'Vehicles', 'Cars', 'acme', 'text/plain', hash])
      assert.ok(!texts.some((text) => text.includes(secret)), secret)
  })

  it('21: proves a file, and its deletion', async () => {
    const { status, body } = await verifyFile('car/1', fileId)
    assert.deepEqual([status, body.status, body.fileId, body.evidenceId, body.txId], [200, 'ok', fileId, 'car/1', txId])
    assert.ok(JSON.parse(body.filesText)[fileId])
    const form = formOf({ ...VEHICLE_CATEGORY, externalId: 'deleted', name: 'x' }, [['images', 'a', 'a']])
    await acme.ok('createEvidence', { form })
    const other = (await acme.files('deleted'))[0].overlayId
    await acme.ok('deleteFile', { query: { fileId: other } })
    const deleted = await verifyFile('deleted', other)
    const { deletion } = deleted.body
    assert.deepEqual([deleted.status, deleted.body.status, typeof deletion.txId], [200, 'deleted', 'string'])
    const invalid = await verifyFile('car/1', 'no-uuid')
    assert.deepEqual([invalid.status, invalid.body.status, invalid.body.code], [400, 'invalid', 'VALIDATION_ERROR'])
  })

  it('20: an id that several companies use is ambiguous unless the request names a company', async () => {
    const { id: COMPANY_ID, keys } = await acme.service.company('other')
    const json = { ...VEHICLE_CATEGORY, externalId: 'car/1', name: 'x' }
    await acme.ok('createEvidence', { key: keys.I, params: { COMPANY_ID }, json })
    const ambiguous = await verify('car/1')
    assert.deepEqual([ambiguous.status, ambiguous.body.status, ambiguous.body.txId], [409, 'ambiguous', undefined])
    const { candidates, error } = ambiguous.body
    assert.deepEqual([candidates[0].id, candidates[0].txId, candidates.length], [id, txId, 2])
    for (const way of ['internal id', '?txId=', '?companyId=']) assert.ok(error.includes(way), way)
    for (const candidate of candidates)
      assert.equal((await verify('car/1', { txId: candidate.txId })).body.txId, candidate.txId)
    assert.equal((await verify('car/1', { companyId: 'acme' })).body.txId, txId)
    assert.equal((await verify('car/1', { txId: 'x' })).status, 400)
    assert.equal((await verifyFile('car/1', fileId)).status, 409)
    assert.equal((await verifyFile('car/1', fileId, { companyId: 'acme' })).body.status, 'ok')
  })

  it('22: returns a path that leads to the root, and rejects malformed ids', async () => {
    const { status, body } = await get('getProof', { txid: txId })
    assert.deepEqual([status, body.status, body.txId, rootOf(txId, body.proof)], [200, 'ok', txId, body.merkleRoot])
    for (const txid of [txId.toUpperCase(), `0x${txId}`, `0X${txId}`])
      assert.equal((await get('getProof', { txid })).body.txId, txId)
    for (const operation of ['getProof', 'getRoot']) {
      const invalid = await get(operation, { txid: `0x${txId}00` })
      assert.deepEqual([invalid.status, invalid.body.status], [400, 'invalid'])
    }
  })

  it('19: recomputes the root, accepts the responses of 20 and 22 as they are, and hex in every spelling', async () => {
    const { body } = await get('getProof', { txid: txId })
    const { merkle } = (await verify(id)).body
    const upper = (hash: string): string => `0X${hash.toUpperCase()}`
    const proof = body.proof.map(({ hash, position }: Body) => ({ hash: upper(hash), position }))
    const spelled = { txId: upper(txId), merkleRoot: upper(body.merkleRoot), proof, note: null }
    for (const json of [body, { ...merkle, txId }, spelled]) {
      const { status, valid, computedRoot, expectedRoot } = await acme.service.ok('validateProof', { json })
      assert.deepEqual([status, valid, computedRoot, expectedRoot], ['ok', true, body.merkleRoot, body.merkleRoot])
    }
    for (const [json, expected] of [
      [{ ...body, proof: [] }, ['ok', false]],
      [{ ...body, txId: UNKNOWN_HASH, proof: [] }, ['not_found', false]],
      [{ ...body, txId: UNKNOWN_HASH, merkleRoot: rootOf(UNKNOWN_HASH, body.proof) }, ['unknown_root', true]],
    ] as const) {
      const { status, valid } = await acme.service.ok('validateProof', { json })
      assert.deepEqual([status, valid], expected)
    }
  })

  it('19: rejects malformed requests, with a status', async () => {
    const rejects = async (status: number, code: string, json: unknown, headers = {}) => {
      const { body } = await acme.service.fails('validateProof', status, code, { json, headers })
      assert.equal(body.status, 'invalid')
    }
    const valid = { txId: UNKNOWN_HASH, merkleRoot: UNKNOWN_HASH, proof: [] }
    for (const json of [{}, { ...valid, txId: 'x' }, [], '"text"']) await rejects(400, 'VALIDATION_ERROR', json)
    await rejects(400, 'MALFORMED_BODY', '{')
    await acme.service.ok('validateProof', { json: { ...valid, note: 'x'.repeat(60_000) } })
    await rejects(413, 'PAYLOAD_TOO_LARGE', { ...valid, note: 'x'.repeat(64 * 1024) })
    await rejects(415, 'UNSUPPORTED_MEDIA_TYPE', '{}', { 'content-type': 'text/plain' })
  })

  it('returns the root of a transaction and the token of its batch', async () => {
    const { merkleRoot, batchId, ...root } = (await get('getRoot', { txid: txId })).body
    assert.deepEqual([root.status, root.sendStatus], ['ok', 'C'])
    assert.equal(merkleRoot, (await get('getProof', { txid: txId })).body.merkleRoot)
    assert.ok(root.txidCount >= 1 && root.treeDepth >= 1 && root.tsaGenTime && root.tsaSerial && root.tsaPolicy)
    const response = await acme.service.fetch(`/api/v1/merkle/tsa/${batchId}`)
    assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'application/timestamp-reply'])
    const token = Buffer.from(await response.arrayBuffer())
    const { tsa } = (await verify(id)).body
    assert.equal(token.toString('base64'), tsa.token)
    const ca = new X509Certificate(await readFile(join(acme.service.directory, 'tsa', 'ca.pem')))
    const { genTime, serialNumber } = verifyTimestamp(new Uint8Array(token), {
      data: new Uint8Array(Buffer.from(tsa.checkpoint)),
      trustAnchors: [new Uint8Array(ca.raw)],
    })
    assert.deepEqual([new Date(genTime).toISOString(), serialNumber], [tsa.genTime, tsa.serialNumber])
    await acme.service.fails('getTimestampToken', 404, 'BATCH_NOT_FOUND', { params: { batchId: id } })
  })

  it('a proof stays valid after later changes', async () => {
    const { merkle } = (await verify(id)).body
    await acme.ok('updateEvidence', { ...of('car/1'), json: { summary: 'later' } })
    await acme.service.until(() => acme.service.registry.status().sealedSize > merkle.treeSize, 'a later batch')
    const later = (await verify(id)).body
    assert.deepEqual(
      [later.txId, later.merkle.merkleRoot, later.merkle.leafIndex],
      [txId, merkle.merkleRoot, merkle.leafIndex],
    )
  })
})

describe('before an evidence is sealed', () => {
  const acme = new CompanyRequests({ sealMaxWaitMs: 3_600_000 })

  it('its proof is pending', async () => {
    const { service } = acme
    const { txId } = await acme.create('e')
    const proof = await service.call('verifyEvidence', { params: { evidenceId: 'e' } })
    assert.deepEqual([proof.status, proof.body.status, proof.body.merkle], [200, 'pending', undefined])
    assert.equal((await service.call('getProof', { params: { txid: txId } })).body.status, 'pending')
    const [event] = (await acme.page('e')).events
    assert.deepEqual([event.merkleBatchId, event.merkleSendStatus], [null, null])
    assert.deepEqual(await acme.ok('listBatches'), { batches: [], isMore: false })
    await service.registry.sealNow()
    assert.equal((await service.call('verifyEvidence', { params: { evidenceId: 'e' } })).body.status, 'ok')
  })
})

/** Computes the root from a path with sides. */
function rootOf(txId: string, proof: readonly { readonly hash: string; readonly position: string }[]): string {
  let node = sha256(Buffer.of(0), Buffer.from(txId, 'hex'))
  for (const { hash, position } of proof) {
    const sibling = Buffer.from(hash, 'hex')
    node = position === 'left' ? sha256(Buffer.of(1), sibling, node) : sha256(Buffer.of(1), node, sibling)
  }
  return node.toString('hex')
}
