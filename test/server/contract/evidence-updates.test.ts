import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CompanyRequests, of } from '../../support/company-requests.ts'
import { formOf } from '../../support/form.ts'
import type { ServiceResponse } from '../../support/service.ts'

type Body = ServiceResponse['body']

describe('updates of an evidence', () => {
  const acme = new CompanyRequests()

  const update = (externalId: string, body: { readonly json: object } | { readonly form: FormData }) =>
    acme.ok('updateEvidence', { ...of(externalId), ...body })
  const rejects = (externalId: string, body: { readonly json: object } | { readonly form: FormData }) =>
    acme.fails('updateEvidence', 400, 'VALIDATION_ERROR', { ...of(externalId), ...body })
  const listed = async (externalId: string): Promise<Body> =>
    (await acme.ok('listEvidences')).dts.find((item: Body) => item.externalId === externalId)

  it('12: records content, transfer and files in one step, in this order', async () => {
    await acme.create('updated', { owner: 'Ada', description: 'old' })
    const texts = { eventDescription: 'Sold', updateActionDescription: 'By hand', updateActionPersona: 'Clerk' }
    const form = formOf({ name: 'Renamed', description: 'new', owner: 'Grace', ...texts, files: '["Contract"]' }, [
      ['files.items', 'contract.pdf', 'pdf', 'application/pdf'],
      ['file', 'note.txt', 'note'],
    ])
    const { status, events: recorded } = await update('updated', { form })
    assert.deepEqual([status, recorded.map(({ version }: Body) => version)], ['ok', [2, 3, 4]])
    assert.deepEqual([recorded[0].files, recorded[1].files], [undefined, undefined])
    const listedIds = (await acme.files('updated')).map(({ overlayId }: Body) => overlayId)
    assert.deepEqual(recorded[2].files.sort(), listedIds.sort())
    const { object, events, lastVersion } = await acme.page('updated')
    assert.deepEqual([object.name, object.owner, object.description, lastVersion], ['Renamed', 'Grace', 'new', 4])
    const shown = events.map((event: Body) => [
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
    const files = (await acme.files('updated')).map((file: Body) => [file.name, file.title, file.eventId])
    assert.deepEqual(files.sort(), [
      ['contract.pdf', 'Contract', 4],
      ['note.txt', 'note', 4],
    ])
    const { historyChanges, lastUpdateTxId } = await listed('updated')
    assert.deepEqual(historyChanges, { create: 1, update: 2, transfer: 1, total: 4 })
    assert.equal(lastUpdateTxId, events[3].txId)
  })

  it('12: null and empty values change nothing, and only clear removes a value', async () => {
    const values = { owner: 'Ada', description: 'd', summary: 's', meta: { a: null, b: '' } }
    await acme.create('blank', values)
    const blanks = { name: '', owner: '', description: '', summary: '', meta: '', clear: '', stolen: '', files: '' }
    const nulls = { name: null, owner: null, description: '', summary: null, meta: null, clear: null, files: null }
    await rejects('blank', { form: formOf(blanks) })
    await rejects('blank', { json: nulls })
    await update('blank', { form: formOf({ ...blanks, eventDescription: 'seen' }) })
    await update('blank', { json: { ...nulls, eventDescription: 'seen' } })
    const { object, events } = await acme.page('blank')
    const { owner, description, summary, meta } = object
    assert.deepEqual({ owner, description, summary, meta }, values)
    const updateTypes = events.slice(1).map(({ updateType }: Body) => updateType)
    assert.deepEqual(updateTypes, ['custom', 'custom'])
    const wrong = [{ owner: 'Grace', clear: ['owner'] }, { clear: ['name'] }, { clear: 'owner' }, { clear: [1] }]
    for (const json of wrong) await rejects('blank', { json })
    await update('blank', { form: formOf({ clear: '["owner","summary"]' }) })
    await update('blank', { json: { meta: {}, clear: ['description'] } })
    const { object: left, events: all } = await acme.page('blank')
    assert.deepEqual(['owner' in left, 'description' in left, 'summary' in left, left.meta], [false, false, false, {}])
    assert.equal(all.at(-1).ownerName, '')
    await update('blank', { form: formOf({ clear: 'meta', eventDescription: 'seen' }) })
    assert.equal('meta' in (await acme.page('blank')).object, false)
  })

  it('12: action is the expected type, and actionType with stolen sets and resets the status', async () => {
    await acme.create('stolen', { owner: 'Ada' })
    await rejects('stolen', { json: { owner: 'Ada' } })
    await rejects('stolen', { json: { action: 'transfer', summary: 'other' } })
    await update('stolen', { json: { actionType: 'stolen' } })
    assert.deepEqual([(await acme.page('stolen')).object.status, (await listed('stolen')).stolen], ['stolen', true])
    await rejects('stolen', { form: formOf({ actionType: 'stolen', stolen: 'no' }) })
    await update('stolen', { form: formOf({ actionType: 'stolen', stolen: 'false' }) })
    assert.equal((await acme.page('stolen')).object.status, 'active')
  })

  it('12: without actionType, a description of exactly one of its words acts as it', async () => {
    await acme.create('remarked', { owner: 'Ada' })
    const remarks = [
      [{ updateActionDescription: ' Stolen\t' }, 'stolen', 'stolen'],
      [{ updateActionDescription: 'stolen', stolen: 'false' }, 'stolen', 'active'],
      [{ updateActionDescription: 'REPAIR' }, 'repair', 'active'],
      [{ updateActionDescription: 'stolen', actionType: 'custom' }, 'custom', 'active'],
      [{ updateActionDescription: 'stolen goods' }, 'custom', 'active'],
    ] as const
    for (const [fields, updateType, status] of remarks) {
      const { events } = await update('remarked', { form: formOf(fields) })
      const [event] = events
      assert.deepEqual(Object.keys(event).slice(0, 2), ['type', 'updateType'])
      assert.deepEqual([events.length, event.type, event.updateType], [1, 'update', updateType])
      assert.equal((await acme.page('remarked')).object.status, status)
    }
    const { events } = await acme.page('remarked')
    assert.equal(events[1].updateDescription, ' Stolen\t')
  })

  it('12: If-Match only accepts the current version', async () => {
    await acme.create('matched')
    const matching = (etag: string, summary: string) => ({
      ...of('matched'),
      json: { summary },
      headers: { 'if-match': etag },
    })
    await acme.ok('updateEvidence', matching('"1"', 'a'))
    await acme.fails('updateEvidence', 412, 'VERSION_CONFLICT', matching('"1"', 'b'))
    await acme.ok('updateEvidence', matching('*', 'c'))
    // A proxy that compresses the response makes its ETag weak.
    await acme.ok('updateEvidence', matching('W/"3"', 'd'))
    for (const etag of ['1', 'W/1', '"x"', '"4", "2"'])
      await acme.fails('updateEvidence', 400, 'VALIDATION_ERROR', matching(etag, 'e'))
  })
})
