import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CompanyRequests, of, VEHICLE_CATEGORY } from '../../support/company-requests.ts'
import { formOf } from '../../support/form.ts'

describe('the overview', () => {
  const [at, disk] = ['2026-01-02T03:04:05.678Z', { freeBytes: 1, sizeBytes: 3 }]
  const acme = new CompanyRequests({ serverReadings: async () => ({ backup: { at: new Date(at) }, disk }) })

  it('counts what the company has, and says how far the whole log is', async () => {
    const empty = await acme.ok('getOverview')
    assert.deepEqual(empty.counts, { evidences: 0, stolen: 0, categories: 0, files: 0 })
    assert.deepEqual(empty.dts, [])
    const form = formOf({ ...VEHICLE_CATEGORY, externalId: 'with-image', name: 'Golf' }, [
      ['image', 'icon.png', 'icon', 'image/png'],
      ['images', 'a.txt', 'text', 'text/plain'],
    ])
    assert.equal((await acme.call('createEvidence', { form })).status, 201)
    await acme.create('stolen')
    await acme.ok('updateEvidence', { ...of('stolen'), json: { actionType: 'stolen' } })
    const { counts, createdPerDay, dts, log, health, ...server } = await acme.ok('getOverview')
    assert.deepEqual(counts, { evidences: 2, stolen: 1, categories: 1, files: 2 })
    assert.equal(createdPerDay.length, 30)
    const created = createdPerDay.reduce((sum: number, day: { count: number }) => sum + day.count, 0)
    assert.equal(created, 2)
    const externalIds = dts.map(({ externalId }: { externalId: string }) => externalId)
    assert.deepEqual(externalIds, ['stolen', 'with-image'])
    assert.equal(dts[1].iconId.size, 'icon'.length)
    assert.ok(log.recorded.size >= 3)
    assert.ok(log.sealed.size <= log.recorded.size)
    for (const { size, waiting } of [log.stamped, log.anchored]) assert.equal(waiting, log.sealed.size - size)
    assert.equal(health, 'ok')
    assert.deepEqual([server.backup, server.disk], [{ at }, disk])
    const [file] = (await acme.ok('listEvidenceFiles', of('with-image'))).dt
    await acme.ok('deleteFile', { query: { fileId: file.overlayId } })
    assert.equal((await acme.ok('getOverview')).counts.files, 1)
  })

  it('does not say that the tokens at the end of the log wait: no batch begins with them', async () => {
    const { id: evidenceId } = await acme.create('sealed')
    const proof = () => acme.service.ok('verifyEvidence', { params: { evidenceId } })
    await acme.service.until(async () => (await proof()).tsa !== undefined, 'the last event is stamped')
    const { log } = await acme.ok('getOverview')
    assert.ok((await acme.service.records.logSize()) > log.sealed.size, 'the log ends with a token')
    assert.equal(log.recorded.size, log.sealed.size)
  })

  it('does not say that receipts of erasures wait for a stamp', async () => {
    const { id: evidenceId } = await acme.create('erased')
    const proof = () => acme.service.ok('verifyEvidence', { params: { evidenceId } })
    await acme.service.until(async () => (await proof()).tsa !== undefined, 'the last event is stamped')
    const erasure = { json: { fields: ['name'], reason: 'request' }, key: acme.company.keys.A }
    await acme.ok('eraseEvidence', { ...of('erased'), ...erasure })
    await acme.service.registry.sealNow()
    const { stamped, sealed, recorded } = (await acme.ok('getOverview')).log
    assert.deepEqual([sealed.size - stamped.size, stamped.waiting, recorded.size], [2, 0, sealed.size])
  })
})
