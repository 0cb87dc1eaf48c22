import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { OPERATOR_KEY, startService, type Company, type Service } from '../../support/service.ts'

describe('source systems', () => {
  let service: Service
  let company: Company
  let asAdmin: { key: string; params: { COMPANY_ID: string } }
  before(async () => {
    service = await startService()
    company = await service.company('acme')
    asAdmin = { key: company.keys.A, params: { COMPANY_ID: company.id } }
  })
  after(() => service.close())

  const system = (SYSTEM_ID: string) => ({ ...asAdmin, params: { ...asAdmin.params, SYSTEM_ID } })
  const works = async (key: string): Promise<boolean> =>
    (await service.call('checkSourceSystem', { key, params: asAdmin.params })).status === 200

  it('16: generates a key of 256 bits if the request has none, and shows it once', async () => {
    const { id, apiKey } = await service.ok('createSourceSystem', { ...asAdmin, json: { name: 'made' } })
    assert.equal(Buffer.from(apiKey, 'base64url').length, 32)
    assert.ok(await works(apiKey))
    const { sourceSystems, count } = await service.ok('listSourceSystems', asAdmin)
    assert.equal(count, sourceSystems.length)
    const listed = sourceSystems.find((each: { id: string }) => each.id === id)
    assert.deepEqual(listed, { id, name: 'made', permissions: 'U', active: true, createdAt: listed.createdAt })
  })

  it('16, 17: null and empty values are wrong, and the error names field and type', async () => {
    const { id } = await service.ok('createSourceSystem', { ...asAdmin, json: { name: 'strict' } })
    for (const json of [{ name: null }, { name: 'x', apiKey: null }, { name: 'x', apiKey: '' }, { name: '' }]) {
      await service.fails('createSourceSystem', 400, 'VALIDATION_ERROR', { ...asAdmin, json })
      await service.fails('updateSourceSystem', 400, 'VALIDATION_ERROR', { ...system(id), json })
    }
    const { body } = await service.call('createSourceSystem', { ...asAdmin, json: { name: 1 } })
    assert.match(body.error, /^name must be a string of 1 to 256 characters .*, not a number$/)
  })

  it("16: never shows a caller's own key, and rejects the same key or name twice", async () => {
    const apiKey = 'own-key-of-the-caller'
    const created = await service.call('createSourceSystem', {
      ...asAdmin,
      json: { name: 'own', apiKey, permissions: 'R' },
    })
    assert.deepEqual([created.status, Object.keys(created.body)], [201, ['id']])
    await service.fails('createSourceSystem', 409, 'KEY_EXISTS', { ...asAdmin, json: { name: 'own 2', apiKey } })
    await service.fails('createSourceSystem', 409, 'NAME_EXISTS', { ...asAdmin, json: { name: 'own' } })
    for (const json of [
      { name: 'x', apiKey: 'too short' },
      { name: 'x', apiKey: 'with a space in it' },
      { name: 'x', permissions: 'X' },
      { apiKey },
      { name: 'x', id: 1 },
    ])
      await service.fails('createSourceSystem', 400, 'VALIDATION_ERROR', { ...asAdmin, json })
  })

  it('16: a repeated request does not show the key', async () => {
    const request = { ...asAdmin, json: { name: 'replayed' }, headers: { 'idempotency-key': 'k' } }
    const first = await service.ok('createSourceSystem', request)
    assert.deepEqual(await service.ok('createSourceSystem', request), { id: first.id })
  })

  it('17: rotates a key at once, renames, deactivates', async () => {
    const { id, apiKey } = await service.ok('createSourceSystem', { ...asAdmin, json: { name: 'rotated' } })
    assert.deepEqual(
      await service.ok('updateSourceSystem', { ...system(id), json: { apiKey: 'the-next-key-of-it' } }),
      { status: 'ok' },
    )
    assert.deepEqual([await works(apiKey), await works('the-next-key-of-it')], [false, true])
    await service.ok('updateSourceSystem', {
      ...system(id),
      json: { name: 'renamed', permissions: 'R', active: false },
    })
    assert.equal(await works('the-next-key-of-it'), false)
    const { sourceSystems } = await service.ok('listSourceSystems', asAdmin)
    const { name, permissions, active } = sourceSystems.find((each: { id: string }) => each.id === id)
    assert.deepEqual([name, permissions, active], ['renamed', 'R', false])
    await service.ok('updateSourceSystem', { ...system(id), json: { active: true } })
    assert.equal(await works('the-next-key-of-it'), true)
    await service.fails('updateSourceSystem', 400, 'VALIDATION_ERROR', { ...system(id), json: {} })
    await service.fails('updateSourceSystem', 409, 'NAME_EXISTS', { ...system(id), json: { name: 'R' } })
    await service.fails('updateSourceSystem', 404, 'SOURCE_SYSTEM_NOT_FOUND', {
      ...system('healthz'),
      json: { active: true },
    })
  })

  it('18: accepts any source system of the company, but not the operator', async () => {
    for (const level of ['R', 'I', 'U', 'A'] as const)
      assert.deepEqual(await service.ok('checkSourceSystem', { key: company.keys[level], params: asAdmin.params }), {
        status: 'ok',
      })
    assert.equal(await works(OPERATOR_KEY), false)
  })

  it('a company begins with its first source system, which only the operator can create', async () => {
    const params = { COMPANY_ID: 'Begun.by_the-operator' }
    assert.equal((await service.call('listCategories', { key: asAdmin.key, params })).status, 401)
    await service.fails('listSourceSystems', 404, 'COMPANY_NOT_FOUND', { key: OPERATOR_KEY, params })
    const { apiKey } = await service.ok('createSourceSystem', {
      key: OPERATOR_KEY,
      params,
      json: { name: 'first', permissions: 'A' },
    })
    assert.equal((await service.ok('listSourceSystems', { key: apiKey, params })).count, 1)
    for (const COMPANY_ID of ['.', '..', 'a b', 'a/b', 'x'.repeat(65), 'ä'])
      // `.` and `..` never leave a client: its URL parser resolves them.
      if (!/^\.+$/.test(COMPANY_ID))
        await service.fails('createSourceSystem', 400, 'VALIDATION_ERROR', {
          key: OPERATOR_KEY,
          params: { COMPANY_ID },
          json: { name: 'x' },
        })
  })
})
