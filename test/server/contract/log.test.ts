import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { Static } from 'typebox'
import { parseTilePath, type BatchPage, type LogBatch } from '../../../server/contract/log.ts'
import { witnessList } from '../../../server/contract/witnesses.ts'
import { CompanyRequests } from '../../support/company-requests.ts'
import { H } from '../../support/commitment-reference.ts'
import { present } from '../../support/present.ts'
import { referenceRoot } from '../../core/log/tree/reference.ts'

type Batch = Static<typeof LogBatch>

it('parses the width of a tile only in its one form, also if the log has that many entries', () => {
  assert.deepEqual(parseTilePath('000'), { index: 0, width: 256 })
  assert.deepEqual(parseTilePath('x001/067.p/255'), { index: 1_067, width: 255 })
  for (const path of ['000.p/256', '000.p/999', '000.p/0', '000.p/01', 'x000/000'])
    assert.equal(parseTilePath(path), undefined, path)
})

it('leaves out of the witnesses what has not happened', () => {
  const witnesses = [
    { name: 'w1', size: 7, cosignedAt: 0, alarm: null },
    { name: 'w2', size: 0, cosignedAt: null, alarm: 'WITNESS_AHEAD' },
  ] as const
  assert.deepEqual(witnessList({ witnesses }).witnesses, [
    { name: 'w1', treeSize: 7, cosignedAt: new Date(0) },
    { name: 'w2', treeSize: 0, alarm: 'WITNESS_AHEAD' },
  ])
})

describe('the log as tiles', () => {
  const acme = new CompanyRequests()
  before(async () => {
    for (const externalId of ['a', 'b', 'c']) await acme.create(externalId)
    await acme.service.registry.sealNow()
  })

  const raw = async (path: string) => {
    const response = await acme.service.fetch(`/api/v1/log${path}`)
    return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) }
  }

  const listBatches = (query: Readonly<Record<string, string>>): Promise<Static<typeof BatchPage>> =>
    acme.service.ok('listBatches', { query })

  it('serves checkpoint, entries, hashes and openings that fit together', async () => {
    const checkpoint = await raw('/checkpoint')
    const [origin, size = '', root = ''] = checkpoint.bytes.toString().split('\n')
    const width = Number(size)
    assert.deepEqual(
      [checkpoint.status, origin, checkpoint.headers.get('cache-control')],
      [200, acme.service.registry.log.origin, 'no-cache'],
    )
    const [tile, entries, openings] = [
      await raw(`/tile/0/000.p/${width}`),
      await raw(`/tile/entries/000.p/${width}`),
      await raw(`/tile/openings/000.p/${width}`),
    ]
    const lines = openings.bytes.toString().trimEnd().split('\n')
    const logged = Array.from({ length: width }, (_, i) => {
      const entry = entries.bytes.subarray(i * 34 + 2, i * 34 + 34)
      assert.deepEqual([entries.bytes.readUInt16BE(i * 34), H(Buffer.from(present(lines[i]), 'hex'))], [32, entry])
      assert.deepEqual(H(Buffer.of(0), entry), tile.bytes.subarray(i * 32, i * 32 + 32))
      return entry
    })
    assert.equal(Buffer.from(referenceRoot(logged)).toString('base64'), root)
    for (const { headers } of [tile, entries, openings])
      assert.equal(headers.get('cache-control'), 'public, max-age=31536000, immutable')
  })

  it('has no witnesses unless the settings name some', async () => {
    assert.deepEqual(await acme.service.ok('listWitnesses'), { witnesses: [] })
  })

  it('has no tile beyond its end, and only one path for each tile', async () => {
    const odd = '0/000 0/000.p/0 0/000.p/256 0/000.p/01 0/0 0/x000/000.p/1 0/001.p/1 6/000.p/1 x/000.p/1 0/000.p/1/2 0'
    const paths = [...odd.split(' '), 'entries/000', 'openings/x001/067'].map((path) => `/tile/${path}`)
    for (const path of paths) {
      const { status, bytes } = await raw(path)
      assert.deepEqual([status, JSON.parse(bytes.toString()).code], [404, 'NOT_FOUND'], path)
    }
  })

  it('lists the batches from the newest to the oldest, in pages, with what covers them', async () => {
    const isCovered = (batch: Batch): boolean => batch.sendStatus === 'C' && batch.tsa !== undefined
    await acme.service.until(
      async () => (await listBatches({ len: '200' })).batches.every(isCovered),
      'all are covered',
    )
    const batches: Batch[] = []
    for (let isMore = true; isMore;) {
      const last = batches.at(-1)?.batchId
      const page = await listBatches({ len: '1', ...(last !== undefined && { last }) })
      assert.equal(page.batches.length, 1)
      batches.push(...page.batches)
      ;({ isMore } = page)
    }
    const all = await listBatches({ len: '200' })
    assert.deepEqual(
      all.batches.map(({ batchId }) => batchId).slice(-batches.length),
      batches.map(({ batchId }) => batchId),
    )
    for (const [i, { batchId, treeSize, txidCount, merkleRoot }] of batches.entries()) {
      assert.equal(treeSize - txidCount, batches[i + 1]?.treeSize ?? 0)
      const sealed = await acme.service.registry.log.batchById(batchId)
      assert.deepEqual([sealed?.start, sealed?.end], [treeSize - txidCount, treeSize])
      const [, size, root = ''] = ((await acme.service.registry.log.checkpoint(treeSize)) ?? '').split('\n')
      assert.deepEqual([Number(size), Buffer.from(root, 'base64').toString('hex')], [treeSize, merkleRoot])
    }
    const { merkle } = await acme.service.ok('verifyEvidence', { params: { evidenceId: 'a' } })
    const { network, txHash, blockNumber, blockTime } = merkle.anchor
    const batch = batches.find(({ batchId }) => batchId === merkle.batchId)
    assert.equal(batch?.merkleRoot, merkle.merkleRoot)
    assert.equal(batch?.tsa?.authority, 'local')
    assert.deepEqual(batch?.anchor, { network, txHash, blockNumber, blockTime })
  })

  it('rejects an unknown batch and a wrong number of batches', async () => {
    await acme.service.fails('listBatches', 404, 'BATCH_NOT_FOUND', { query: { last: 'x' } })
    await acme.service.fails('listBatches', 400, 'VALIDATION_ERROR', { query: { len: '0' } })
    await acme.service.fails('listBatches', 400, 'VALIDATION_ERROR', { query: { len: 'x' } })
    assert.equal((await listBatches({ len: '9999' })).isMore, false)
  })
})
