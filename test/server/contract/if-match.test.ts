import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { CompanyRequests, of, VEHICLE_CATEGORY } from '../../support/company-requests.ts'
import { formOf } from '../../support/form.ts'
import { OPERATOR_KEY, type CallOptions, type ServiceResponse } from '../../support/service.ts'

const NOTHING = '01890a5d-ac96-774b-bcce-b302099a8057'

describe('If-Match', () => {
  const acme = new CompanyRequests({ sealMaxWaitMs: 3_600_000 })
  const ids = { CATEGORY_ID: '', SUBCATEGORY_ID: '' }
  before(async () => {
    await acme.create('in-it')
    const { categoryId, subcategoryId } = (await acme.page('in-it')).object
    Object.assign(ids, { CATEGORY_ID: categoryId, SUBCATEGORY_ID: subcategoryId })
  })

  const withTag = (etag: string, options: CallOptions): CallOptions => ({ ...options, headers: { 'if-match': etag } })
  const tagOf = async (id: string, options: CallOptions): Promise<string> =>
    (await acme.call(id, options)).headers.get('etag') ?? ''
  const conflicts = (id: string, options: CallOptions): Promise<ServiceResponse> =>
    acme.fails(id, 412, 'VERSION_CONFLICT', options)

  for (const level of ['Category', 'Subcategory'] as const)
    it(`the tag of a ${level} counts its own changes`, async () => {
      const tag = (): Promise<string> => tagOf(`get${level}`, { params: ids })
      const update = (json: object) => ({ params: ids, json })
      const first = await tag()
      assert.match(first, /^"1-[0-9a-f]{16}"$/)
      await acme.create(`new-${level}`, VEHICLE_CATEGORY)
      assert.match(await tag(), /^"1-/)
      assert.notEqual(await tag(), first)
      await acme.ok(`update${level}`, withTag(first, update({ description: 'a' })))
      for (const stale of [first, `W/${first}`, '"1"', '"3"'])
        await conflicts(`update${level}`, withTag(stale, update({ description: 'b' })))
      await conflicts(`update${level}`, withTag(first, update({ action: 'REMOVE' })))
      await acme.ok(`update${level}`, update({ description: 'a' }))
      assert.match(await tag(), /^"2-/, 'nothing has changed')
      const form = formOf({}, [['file', 'icon.png', 'a', 'image/png']])
      const changes = [update({ name: 'N' }), update({ action: 'DEACTIVATE' }), { params: ids, form }]
      for (const [i, change] of changes.entries()) await acme.ok(`update${level}`, withTag(`W/"${i + 2}"`, change))
      const { imageId } = await acme.ok(`get${level}`, { params: ids })
      const file = { query: { fileId: imageId } }
      await conflicts('deleteFile', withTag('"4"', file))
      await acme.ok('deleteFile', withTag(await tag(), file))
      assert.match(await tag(), /^"6-/)
      await acme.ok(
        `update${level}`,
        withTag('*', update(level === 'Category' ? { name: 'Vehicles' } : { name: 'Cars' })),
      )
      await acme.ok(`update${level}`, update({ action: 'ACTIVATE' }))
      await acme.fails(`update${level}`, 400, 'VALIDATION_ERROR', withTag(`"${'0'.repeat(64)}"`, update({ name: 'M' })))
    })

  it('12 accepts the version of the evidence, alone or in its tag, which a proxy can make weak', async () => {
    await acme.create('matched')
    const update = (tag: string, summary: string) => withTag(tag, { ...of('matched'), json: { summary } })
    await acme.ok('updateEvidence', update('"1"', 'a'))
    await conflicts('updateEvidence', update('"1"', 'b'))
    await acme.ok('updateEvidence', update(await tagOf('getEvidence', of('matched')), 'b'))
    await acme.ok('updateEvidence', update('W/"3"', 'c'))
    for (const tag of ['1', 'W/1', '"x"', '"4", "2"'])
      await acme.fails('updateEvidence', 400, 'VALIDATION_ERROR', update(tag, 'd'))
    await acme.ok('updateEvidence', update('*', 'd'))
  })

  it('15 accepts the version of the evidence, and the tag of the file', async () => {
    const files = ['a', 'b', 'c', 'd'].map((name) => ['images', name, name] as const)
    await acme.ok('createEvidence', { form: formOf({ ...VEHICLE_CATEGORY, externalId: 'owner', name: 'x' }, files) })
    const queries = (await acme.files('owner')).map(({ overlayId }: ServiceResponse['body']) => ({
      query: { fileId: overlayId },
    }))
    const [a, b, c, d] = queries
    const tag = await tagOf('getEvidence', of('owner'))
    await acme.ok('deleteFile', withTag(tag, a))
    await conflicts('deleteFile', withTag(tag, b))
    await acme.ok('deleteFile', withTag('"2"', b))
    const [ofC, ofD] = [await tagOf('downloadFile', c), await tagOf('downloadFile', d)]
    const { body } = await conflicts('deleteFile', withTag(ofD, c))
    assert.match(body.error, /^If-Match /)
    await acme.ok('deleteFile', withTag(`W/${ofC}`, c))
    for (const wrong of ['', '4', '"4", "2"', `${ofD}, ${ofC}`, ofD.slice(1, -1), '"x"'])
      await acme.fails('deleteFile', 400, 'VALIDATION_ERROR', withTag(wrong, d))
    await acme.ok('deleteFile', withTag('*', d))
  })

  it('is the only condition of a write that is evaluated: others are refused', async () => {
    const params = { EVIDENCE_EXTERNAL_ID: 'tagged' }
    for (const [name, value] of [
      ['If-None-Match', '*'],
      ['If-Unmodified-Since', 'Sat, 28 Nov 2026 12:00:00 GMT'],
    ] as const)
      await acme.fails('updateEvidence', 400, 'VALIDATION_ERROR', {
        params,
        json: { name: 'x' },
        headers: { [name]: value },
      })
  })

  it('is refused by every other write', async () => {
    const params = { SYSTEM_ID: NOTHING, ...ids }
    for (const [id, json] of [
      ['createCategory', { name: 'New' }],
      ['createSubcategory', { name: 'New' }],
      ['createEvidence', { ...VEHICLE_CATEGORY, externalId: 'new', name: 'x' }],
      ['createEvidences', { externalId: 'new', name: 'x' }],
      ['createSourceSystem', { name: 'New' }],
      ['updateSourceSystem', { name: 'New' }],
      ['createFileToken', { fileId: NOTHING }],
    ] as const)
      for (const tag of ['"1"', '*'])
        await acme.changesNothing(async () => {
          const { body } = await acme.fails(id, 400, 'VALIDATION_ERROR', {
            ...withTag(tag, { params, json }),
            key: OPERATOR_KEY,
          })
          assert.match(body.error, /^If-Match must not be sent/)
        })
  })
})
