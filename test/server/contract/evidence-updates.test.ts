import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { formOf } from '../../support/form.ts'
import { evidenceRequests } from '../../support/evidence-requests.ts'
import { startService, type ServiceResponse, type Company, type Service } from '../../support/service.ts'

describe('updates of an evidence', () => {
  let service: Service
  let company: Company
  let at: { key: string; params: { COMPANY_ID: string } }
  before(async () => {
    service = await startService()
    company = await service.company('acme')
    at = { key: company.keys.U, params: { COMPANY_ID: company.id } }
  })
  after(() => service.close())

  const { of, create, page } = evidenceRequests(() => ({ service, company }))

  it('12: records content, transfer and files in one step, in this order', async () => {
    await create('updated', { owner: 'Ada', description: 'old' })
    const form = formOf(
      {
        description: 'new',
        owner: 'Grace',
        eventDescription: 'Sold',
        updateActionDescription: 'By hand',
        updateActionPersona: 'Clerk',
        files: '["Contract"]',
      },
      [
        ['files.items', 'contract.pdf', 'pdf', 'application/pdf'],
        ['file', 'note.txt', 'note'],
      ],
    )
    const { status, events: recorded } = await service.ok('updateEvidence', { ...of('updated'), form })
    assert.deepEqual([status, recorded.map(({ version }: { version: number }) => version)], ['ok', [2, 3, 4]])
    const { object, events, lastVersion } = await page('updated')
    assert.deepEqual([object.owner, object.description, lastVersion], ['Grace', 'new', 4])
    const shown = events.map((event: ServiceResponse['body']) => [
      event.type,
      event.updateType,
      event.ownerName,
      event.eventDescription,
      event.updateDescription,
      event.personaName,
    ])
    assert.deepEqual(shown, [
      ['create', undefined, 'Ada', undefined, undefined, undefined],
      ['update', 'change', 'Ada', 'Sold', 'By hand', 'Clerk'],
      ['transfer', undefined, 'Grace', 'Sold', 'By hand', 'Clerk'],
      ['update', 'addfile', 'Grace', 'Sold', 'By hand', 'Clerk'],
    ])
    const { dt } = await service.ok('listEvidenceFiles', of('updated'))
    assert.deepEqual(dt.map((file: ServiceResponse['body']) => [file.name, file.title, file.eventId]).sort(), [
      ['contract.pdf', 'Contract', 4],
      ['note.txt', 'note', 4],
    ])
    const { historyChanges, lastUpdateTxId } = (await service.ok('listEvidences', at)).dts.find(
      (item: ServiceResponse['body']) => item.externalId === 'updated',
    )
    assert.deepEqual(
      [historyChanges, lastUpdateTxId],
      [{ create: 1, update: 2, transfer: 1, total: 4 }, events[3].txId],
    )
  })

  it('12: an equal value records nothing, and stolen can be set and reset', async () => {
    await create('cleared', { owner: 'Ada', summary: 's', meta: { a: 1 } })
    await service.fails('updateEvidence', 400, 'VALIDATION_ERROR', {
      ...of('cleared'),
      json: { owner: 'Ada', summary: 's', meta: { a: 1 } },
    })
    await service.fails('updateEvidence', 400, 'VALIDATION_ERROR', { ...of('cleared'), json: {} })
    await service.fails('updateEvidence', 400, 'VALIDATION_ERROR', {
      ...of('cleared'),
      json: { action: 'transfer', summary: 'other' },
    })
    await service.ok('updateEvidence', { ...of('cleared'), form: formOf({ clear: 'summary, meta' }) })
    const { object } = await page('cleared')
    assert.deepEqual(['summary' in object, 'meta' in object, object.owner], [false, false, 'Ada'])
    await service.ok('updateEvidence', { ...of('cleared'), json: { actionType: 'stolen' } })
    assert.equal((await page('cleared')).object.status, 'stolen')
    assert.equal(
      (await service.ok('listEvidences', at)).dts.find((item: ServiceResponse['body']) => item.externalId === 'cleared')
        .stolen,
      true,
    )
    await service.fails('updateEvidence', 400, 'VALIDATION_ERROR', {
      ...of('cleared'),
      form: formOf({ actionType: 'stolen', stolen: 'no' }),
    })
    await service.ok('updateEvidence', { ...of('cleared'), form: formOf({ actionType: 'stolen', stolen: 'false' }) })
    await service.ok('updateEvidence', { ...of('cleared'), json: { eventDescription: 'seen' } })
    const { object: unmarked, events } = await page('cleared')
    assert.equal(unmarked.status, 'active')
    assert.deepEqual(
      events.slice(1).map((event: ServiceResponse['body']) => event.updateType),
      ['change', 'stolen', 'stolen', 'custom'],
    )
  })

  it('12: null and empty values change nothing, and only clear removes a value', async () => {
    const values = { owner: 'Ada', description: 'd', summary: 's', meta: { a: null, b: '' } }
    await create('blank', values)
    const blanks = { name: '', owner: '', description: '', summary: '', meta: '', clear: '', stolen: '', files: '' }
    await service.fails('updateEvidence', 400, 'VALIDATION_ERROR', { ...of('blank'), form: formOf(blanks) })
    const nulls = { name: null, owner: null, description: '', summary: null, meta: null, clear: null, files: null }
    await service.fails('updateEvidence', 400, 'VALIDATION_ERROR', { ...of('blank'), json: nulls })
    await service.ok('updateEvidence', { ...of('blank'), form: formOf({ ...blanks, eventDescription: 'seen' }) })
    await service.ok('updateEvidence', { ...of('blank'), json: { ...nulls, eventDescription: 'seen' } })
    const { object, events } = await page('blank')
    const { owner, description, summary, meta } = object
    assert.deepEqual({ owner, description, summary, meta }, values)
    assert.deepEqual(
      events.slice(1).map(({ updateType }: ServiceResponse['body']) => updateType),
      ['custom', 'custom'],
    )
    const rejected = [{ owner: 'Grace', clear: ['owner'] }, { clear: ['name'] }, { clear: 'owner' }, { clear: [1] }]
    for (const json of rejected)
      await service.fails('updateEvidence', 400, 'VALIDATION_ERROR', { ...of('blank'), json })
    await service.ok('updateEvidence', { ...of('blank'), form: formOf({ clear: '["owner","summary"]' }) })
    await service.ok('updateEvidence', { ...of('blank'), json: { meta: {}, clear: ['description'] } })
    const { object: left, events: all } = await page('blank')
    assert.deepEqual(['owner' in left, 'description' in left, 'summary' in left, left.meta], [false, false, false, {}])
    assert.equal(all.at(-1).ownerName, '')
    await service.fails('updateEvidence', 400, 'VALIDATION_ERROR', { ...of('blank'), json: { clear: ['owner'] } })
  })

  it('12: renames', async () => {
    await create('named')
    await service.ok('updateEvidence', { ...of('named'), json: { name: 'Renamed' } })
    const { object, events } = await page('named')
    assert.deepEqual([object.name, events[1].updateType], ['Renamed', 'change'])
  })

  it('12: If-Match only accepts the current version', async () => {
    await create('matched')
    const update = (etag: string, summary: string) => ({
      ...of('matched'),
      json: { summary },
      headers: { 'if-match': etag },
    })
    await service.ok('updateEvidence', update('"1"', 'a'))
    await service.fails('updateEvidence', 412, 'VERSION_CONFLICT', update('"1"', 'b'))
    await service.ok('updateEvidence', update('*', 'c'))
    for (const etag of ['1', 'W/"1"', '"x"', '"1", "2"'])
      await service.fails('updateEvidence', 400, 'VALIDATION_ERROR', update(etag, 'd'))
  })

  it('12: records all simultaneous updates, one after the other', async () => {
    await create('busy')
    await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        service.ok('updateEvidence', { ...of('busy'), json: { eventDescription: `e${i}` } }),
      ),
    )
    const { events } = await page('busy')
    assert.deepEqual(
      events.map(({ version }: { version: number }) => version),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    )
  })
})
