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

  it('12: takes every text, owner and file by its name, and returns the recorded events', async () => {
    await acme.create('updated', { owner: 'Ada', description: 'old' })
    const texts = { eventDescription: 'Sold', updateActionDescription: 'By hand', updateActionPersona: 'Clerk' }
    const form = formOf({ name: 'Renamed', description: 'new', owner: 'Grace', ...texts, files: '["Contract"]' }, [
      ['files.items', 'contract.pdf', 'pdf', 'application/pdf'],
      ['file', 'note.txt', 'note'],
    ])
    const { status, events: recorded } = await update('updated', { form })
    const { object, events, lastVersion } = await acme.page('updated')
    assert.deepEqual([object.name, object.owner, object.description, lastVersion], ['Renamed', 'Grace', 'new', 4])
    const files = await acme.files('updated')
    const ids = files.map(({ overlayId }: Body) => overlayId).sort()
    const [, changed, transferred, attached] = events
    recorded[2].files.sort()
    assert.equal(status, 'ok')
    assert.deepEqual(recorded, [
      { type: 'update', updateType: 'change', txId: changed.txId, version: 2 },
      { type: 'transfer', txId: transferred.txId, version: 3 },
      { type: 'update', updateType: 'addfile', txId: attached.txId, version: 4, files: ids },
    ])
    for (const { eventDescription, updateDescription, personaName } of events.slice(1))
      assert.deepEqual([eventDescription, updateDescription, personaName], ['Sold', 'By hand', 'Clerk'])
    const shown = files.map((file: Body) => [file.name, file.title, file.eventId])
    assert.deepEqual(shown.sort(), [
      ['contract.pdf', 'Contract', 4],
      ['note.txt', 'note', 4],
    ])
    const { historyChanges, lastUpdateTxId } = await listed('updated')
    assert.deepEqual([historyChanges.total, lastUpdateTxId], [4, attached.txId])
  })

  it('12: null and empty values change nothing, and only clear removes a value', async () => {
    const values = { owner: 'Ada', description: 'd', summary: 's', meta: { a: null, b: '' } }
    await acme.create('blank', values)
    const blanks = { name: '', owner: '', description: '', summary: '', meta: '', clear: '', stolen: '', files: '' }
    const nulls = { name: '', owner: null, description: '', summary: null, meta: null, clear: null, files: null }
    for (const body of [{ form: formOf(blanks) }, { json: nulls }, { json: { clear: 'owner' } }])
      await rejects('blank', body)
    await update('blank', { form: formOf({ ...blanks, eventDescription: 'seen' }) })
    await update('blank', { json: { ...nulls, eventDescription: 'seen' } })
    const { owner, description, summary, meta } = (await acme.page('blank')).object
    assert.deepEqual({ owner, description, summary, meta }, values)
    await update('blank', { form: formOf({ clear: '["owner","summary"]' }) })
    await update('blank', { json: { meta: {}, clear: ['description'] } })
    const { object: left } = await acme.page('blank')
    assert.deepEqual(['owner' in left, 'description' in left, 'summary' in left, left.meta], [false, false, false, {}])
    await update('blank', { form: formOf({ clear: 'meta', eventDescription: 'seen' }) })
    assert.equal('meta' in (await acme.page('blank')).object, false)
  })

  it('12: action is the expected type, and actionType with stolen sets and resets the status', async () => {
    await acme.create('stolen', { owner: 'Ada' })
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
})
