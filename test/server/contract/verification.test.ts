import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { CompanyRequests, VEHICLE_CATEGORY } from '../../support/company-requests.ts'
import { formOf } from '../../support/form.ts'
import type { ServiceResponse } from '../../support/service.ts'

type Body = ServiceResponse['body']
type Query = Readonly<Record<string, string>>

const UNKNOWN_HASH = 'ab'.repeat(32)

// What the documents prove, and what they do not reveal, is tested in core/registry/proofs.test.ts.
describe('verification', () => {
  const acme = new CompanyRequests()
  const ids = { evidence: '', txId: '', file: '', deleted: '', batch: '' }
  before(async () => {
    const form = formOf({ ...VEHICLE_CATEGORY, externalId: 'car/1', name: 'x' }, [
      ['images', 'a.txt', 'a'],
      ['images', 'b.txt', 'b'],
    ])
    const { id, txId } = await acme.ok('createEvidence', { form })
    const [file, deleted] = (await acme.files('car/1')).map(({ overlayId }: Body) => overlayId)
    await acme.ok('deleteFile', { query: { fileId: deleted } })
    const { id: COMPANY_ID, keys } = await acme.service.company('other')
    const json = { ...VEHICLE_CATEGORY, externalId: 'car/1', name: 'x' }
    await acme.ok('createEvidence', { key: keys.I, params: { COMPANY_ID }, json })
    const { registry } = acme.service
    await registry.sealNow()
    await acme.service.until(() => {
      const { sealedSize, stampedSize, anchoredSize } = registry.status()
      return stampedSize === sealedSize && anchoredSize === sealedSize
    }, 'all is stamped and anchored')
    const { batchId } = await acme.service.ok('getRoot', { params: { txid: txId } })
    Object.assign(ids, { evidence: id, txId, file, deleted, batch: batchId })
  })

  const get = (operation: string, params: Query, query: Query = {}): Promise<ServiceResponse> =>
    acme.service.call(operation, { params, query })

  it('20, 21, 22: each document of the core is the response, with its status', async () => {
    const { proofs } = acme.service.registry
    const { evidence, txId, file, deleted } = ids
    const evidenceId = 'car/1'
    const companyId = 'acme'
    const own = { evidenceId, companyId }
    const cases: readonly (readonly [number, string, string, Query, Query, Promise<object>])[] = [
      [200, 'ok', 'verifyEvidence', { evidenceId: evidence.toUpperCase() }, {}, proofs.evidence(own)],
      [200, 'ok', 'verifyEvidence', { evidenceId }, { companyId }, proofs.evidence(own)],
      [200, 'ok', 'verifyEvidence', { evidenceId }, { txId }, proofs.evidence(own)],
      [409, 'ambiguous', 'verifyEvidence', { evidenceId }, {}, proofs.evidence({ evidenceId })],
      [400, 'invalid', 'verifyEvidence', { evidenceId }, { txId: 'x' }, proofs.evidence({ evidenceId, txId: 'x' })],
      [200, 'ok', 'verifyFile', { evidenceId, fileId: file }, { companyId }, proofs.file({ ...own, fileId: file })],
      [200, 'deleted', 'verifyFile', { evidenceId: evidence, fileId: deleted }, {},
        proofs.file({ ...own, fileId: deleted })],
      [409, 'ambiguous', 'verifyFile', { evidenceId, fileId: file }, {}, proofs.file({ evidenceId, fileId: file })],
      [400, 'invalid', 'verifyFile', { evidenceId, fileId: 'x' }, { companyId }, proofs.file({ ...own, fileId: 'x' })],
      ...[txId, txId.toUpperCase(), `0X${txId}`].map(
        (txid) => [200, 'ok', 'getProof', { txid }, {}, proofs.transaction(txId)] as const,
      ),
      [400, 'invalid', 'getProof', { txid: `${txId}00` }, {}, proofs.transaction(`${txId}00`)],
      [200, 'ok', 'getRoot', { txid: txId }, {}, proofs.root(txId)],
      [400, 'invalid', 'getRoot', { txid: 'x' }, {}, proofs.root('x')],
    ] // prettier-ignore
    for (const [status, state, operation, params, query, document] of cases) {
      const what = `${operation} ${JSON.stringify({ params, query })}`
      const response = await get(operation, params, query)
      assert.deepEqual([response.status, response.body.status], [status, state], what)
      assert.deepEqual(response.body, JSON.parse(JSON.stringify(await document)), what)
    }
  })

  it('20: says how to name one of several evidences', async () => {
    const { error } = (await get('verifyEvidence', { evidenceId: 'car/1' })).body
    for (const way of ['internal id', '?txId=', '?companyId=']) assert.ok(error.includes(way), way)
  })

  it('19: accepts the responses of 20 and 22 as they are, and hex in every spelling', async () => {
    const { txId } = ids
    const { body } = await get('getProof', { txid: txId })
    const { merkle } = (await get('verifyEvidence', { evidenceId: ids.evidence })).body
    const upper = (hash: string): string => `0X${hash.toUpperCase()}`
    const proof = body.proof.map(({ hash, position }: Body) => ({ hash: upper(hash), position }))
    const spelled = { txId: upper(txId), merkleRoot: upper(body.merkleRoot), proof, note: null }
    for (const json of [body, { ...merkle, txId }, spelled]) {
      const { status, valid, computedRoot, expectedRoot } = await acme.service.ok('validateProof', { json })
      assert.deepEqual([status, valid, computedRoot, expectedRoot], ['ok', true, body.merkleRoot, body.merkleRoot])
    }
    for (const [txid, expected] of [
      [txId, ['ok', false]],
      [UNKNOWN_HASH, ['not_found', false]],
    ] as const) {
      const { status, valid } = await acme.service.ok('validateProof', { json: { ...body, txId: txid, proof: [] } })
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

  it('sends the proof of a transaction also as a text', async () => {
    const { txId } = ids
    const response = await acme.service.fetch(`/api/v1/merkle/tlog-proof/0x${txId.toUpperCase()}`)
    assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'text/plain; charset=utf-8'])
    assert.equal(await response.text(), await acme.service.registry.proofs.tlogProof(txId))
    await acme.service.fails('getTlogProof', 400, 'VALIDATION_ERROR', { params: { txid: 'x' } })
  })

  it('sends the token of a batch as it is', async () => {
    const response = await acme.service.fetch(`/api/v1/merkle/tsa/${ids.batch}`)
    assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'application/timestamp-reply'])
    const token = await acme.service.registry.proofs.timestampToken(ids.batch)
    assert.deepEqual(Buffer.from(await response.arrayBuffer()), Buffer.from(token))
  })
})
