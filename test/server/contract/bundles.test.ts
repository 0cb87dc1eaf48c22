import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { BASE_PATH } from '../../../server/index.ts'
import { Bundle, BUNDLE_MEDIA_TYPE } from '../../../core/schemas/index.ts'
import { validate } from '../../../core/schemas/validation.ts'
import { CompanyRequests, VEHICLE_CATEGORY } from '../../support/company-requests.ts'
import { formOf } from '../../support/form.ts'

describe('proof bundles', () => {
  const acme = new CompanyRequests()
  let id: string
  let txId: string
  let fileId: string
  before(async () => {
    const fields = { ...VEHICLE_CATEGORY, externalId: 'car/1', name: 'Ü' }
    ;({ id, txId } = await acme.ok('createEvidence', { form: formOf(fields, [['images', 'photo.txt', 'a photo']]) }))
    fileId = (await acme.files('car/1'))[0].overlayId
  })

  const get = (query: Record<string, string>, key = acme.company.keys.R) =>
    acme.service.fetch(`${BASE_PATH}/evidences/acme/evidence/car%2F1/bundle?${new URLSearchParams(query).toString()}`, {
      headers: { 'x-api-key': key },
    })
  const publicBundle = (path: string) => acme.service.fetch(`${BASE_PATH}/merkle/${path}`)

  it('sends the bundle of an evidence as a download', async () => {
    const response = await get({ fields: 'name,owner', files: 'all' })
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('content-type'), `${BUNDLE_MEDIA_TYPE}; charset=utf-8`)
    assert.match(response.headers.get('content-disposition') ?? '', /filename="car_1~\w{16}\.evidence\.json"/)
    assert.equal(response.headers.get('cache-control'), 'private, no-cache')
    const [event] = validate(Bundle, await response.json()).events
    assert.deepEqual([Object.keys(event?.fields ?? {}), Object.keys(event?.files ?? {})], [['name'], [fileId]])
    const [inUpperCase] = validate(
      Bundle,
      await (await get({ fields: 'none', files: fileId.toUpperCase() })).json(),
    ).events
    assert.deepEqual(Object.keys(inUpperCase?.files ?? {}), [fileId])
    const withHistory = validate(Bundle, await (await get({ fields: 'none', files: 'none', history: '1' })).json())
    assert.deepEqual(Object.keys(withHistory.events[0]?.fields ?? {}), ['slotKey'])
  })

  it('names the fields that exist if one is unknown', async () => {
    const response = await get({ fields: 'name,colour', files: 'none' })
    const { error, code } = (await response.json()) as Record<string, string>
    assert.deepEqual([response.status, code], [400, 'VALIDATION_ERROR'])
    assert.match(error ?? '', /^fields must not contain "colour": the names are action, .*, name, .*eventDescription$/)
  })

  it('requires the selection and a key', async () => {
    for (const query of [{}, { fields: 'all' }, { fields: '', files: 'none' }])
      assert.equal((await get(query as Record<string, string>)).status, 400)
    assert.equal((await get({ fields: 'none', files: 'none' }, 'x'.repeat(20))).status, 401)
  })

  it('gives anyone a bundle without content', async () => {
    for (const path of [`verify/${id}`, `verify/${id}/${fileId}`, `proof/${txId}`]) {
      const response = await publicBundle(`${path}?format=bundle`)
      assert.equal(response.headers.get('content-type'), `${BUNDLE_MEDIA_TYPE}; charset=utf-8`)
      assert.equal(response.headers.get('access-control-allow-origin'), '*')
      const [event] = validate(Bundle, await response.json()).events
      assert.deepEqual([event?.fields, event?.files], [undefined, undefined])
    }
    const missing = await publicBundle('verify/none?format=bundle')
    assert.equal(missing.status, 404)
    const { status, code, evidenceId } = (await missing.json()) as Record<string, string>
    assert.deepEqual([status, code, evidenceId], ['not_found', 'EVIDENCE_NOT_FOUND', 'none'])
    assert.equal((await publicBundle(`verify/${id}?format=xml`)).status, 400)
  })

  it('shows the policy as JSON and as text', async () => {
    const policy = await acme.service.ok('getPolicy')
    assert.match(policy.timestampAuthorities[0].trustAnchors[0], /^-----BEGIN CERTIFICATE-----\n/)
    assert.deepEqual(policy, await acme.service.registry.log.policy())
    const text = await acme.service.fetch(`${BASE_PATH}/log/policy?format=text`)
    assert.equal(await text.text(), `log ${acme.service.registry.log.verifierKey}\nquorum none\n`)
    assert.equal((await acme.service.fetch(`${BASE_PATH}/log/policy?format=xml`)).status, 400)
  })
})
