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
  const readListed = async (id: string) => {
    const { sourceSystems } = await service.ok('listSourceSystems', asAdmin)
    return sourceSystems.find((each: { id: string }) => each.id === id)
  }
  const works = async (key: string): Promise<boolean> =>
    (await service.call('checkSourceSystem', { key, params: asAdmin.params })).status === 200

  it('16: generates a key of 256 bits if the request has none, and shows it once', async () => {
    const { id, apiKey } = await service.ok('createSourceSystem', { ...asAdmin, json: { name: 'made' } })
    assert.equal(Buffer.from(apiKey, 'base64url').length, 32)
    assert.ok(await works(apiKey))
    const { sourceSystems, count } = await service.ok('listSourceSystems', asAdmin)
    assert.equal(count, sourceSystems.length)
    const listed = sourceSystems.find((each: { id: string }) => each.id === id)
    const { createdAt, lastUsedAt } = listed
    assert.deepEqual(listed, { id, name: 'made', permissions: 'U', active: true, createdAt, lastUsedAt })
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

  it('16, 17: accept expiresAt, a time in the future in any form of RFC 3339', async () => {
    const year = new Date().getUTCFullYear() + 1
    const { id } = await service.ok('createSourceSystem', {
      ...asAdmin,
      json: { name: 'expires', expiresAt: `${year}-01-31T14:00:00+02:00` },
    })
    assert.equal((await readListed(id)).expiresAt, `${year}-01-31T12:00:00.000Z`)
    await service.ok('updateSourceSystem', { ...system(id), json: { expiresAt: `${year}-02-28T12:00:00Z` } })
    assert.equal((await readListed(id)).expiresAt, `${year}-02-28T12:00:00.000Z`)
    for (const expiresAt of [`${year}-02-30T12:00:00Z`, `${year}-01-31`, '2020-01-01T00:00:00Z', 'soon', null, '', 7]) {
      const json = { name: 'never', expiresAt }
      const { body } = await service.fails('createSourceSystem', 400, 'VALIDATION_ERROR', { ...asAdmin, json })
      assert.match(body.error, /^expiresAt must be a /)
      await service.fails('updateSourceSystem', 400, 'VALIDATION_ERROR', { ...system(id), json })
    }
  })

  it('17: keeps a replaced key for graceSeconds, and deactivation ends both', async () => {
    const { id, apiKey } = await service.ok('createSourceSystem', { ...asAdmin, json: { name: 'graceful' } })
    const next = 'the-next-key-of-graceful'
    for (const graceSeconds of [-1, 604_801, '60', 1.5, null])
      await service.fails('updateSourceSystem', 400, 'VALIDATION_ERROR', {
        ...system(id),
        json: { apiKey: next, graceSeconds },
      })
    await service.fails('updateSourceSystem', 400, 'VALIDATION_ERROR', { ...system(id), json: { graceSeconds: 60 } })
    await service.ok('updateSourceSystem', { ...system(id), json: { apiKey: next, graceSeconds: 604_800 } })
    assert.deepEqual([await works(apiKey), await works(next)], [true, true])
    assert.ok(Date.parse((await readListed(id)).replacedKeyEndsAt) > Date.now())
    await service.ok('updateSourceSystem', { ...system(id), json: { active: false } })
    assert.deepEqual([await works(apiKey), await works(next)], [false, false])
  })

  it('list: shows the last use to the minute', async () => {
    const { id, apiKey } = await service.ok('createSourceSystem', { ...asAdmin, json: { name: 'used' } })
    assert.equal((await readListed(id)).lastUsedAt, undefined)
    const startedAt = Date.now()
    assert.ok(await works(apiKey))
    const { lastUsedAt } = await readListed(id)
    assert.match(lastUsedAt, /:00\.000Z$/)
    assert.ok(Date.parse(lastUsedAt) > startedAt - 60_000 && Date.parse(lastUsedAt) <= Date.now())
  })

  it('get: is what the list has', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const { id, apiKey } = await service.ok('createSourceSystem', { ...asAdmin, json: { name: 'got', expiresAt } })
    assert.ok(await works(apiKey))
    const one = { ...asAdmin, params: { ...asAdmin.params, SYSTEM_ID: id } }
    assert.deepEqual(await service.ok('getSourceSystem', one), await readListed(id))
    await service.fails('getSourceSystem', 404, 'SOURCE_SYSTEM_NOT_FOUND', {
      ...one,
      params: { ...one.params, SYSTEM_ID: 'unknown' },
    })
  })

  it('self: describes the key in the request', async () => {
    for (const level of ['R', 'I', 'U', 'A'] as const)
      assert.deepEqual(await service.ok('getOwnSourceSystem', { key: company.keys[level], params: asAdmin.params }), {
        id: company.systems[level],
        name: level,
        permissions: level,
      })
    assert.deepEqual(await service.ok('getOwnSourceSystem', { key: OPERATOR_KEY, params: asAdmin.params }), {
      name: 'operator',
      permissions: 'A',
    })
    await service.fails('getOwnSourceSystem', 404, 'COMPANY_NOT_FOUND', {
      key: OPERATOR_KEY,
      params: { COMPANY_ID: 'unknown' },
    })
  })

  it('audit: lists changes, rejected keys and file tokens, in pages', async () => {
    const { id: companyId, keys, systems } = await service.company('audited')
    const params = { COMPANY_ID: companyId }
    const admin = { key: keys.A, params }
    const asSystem = { ...admin, params: { ...params, SYSTEM_ID: systems.R } }
    await service.ok('updateSourceSystem', { ...asSystem, json: { name: 'reader' } })
    await service.ok('updateSourceSystem', { ...asSystem, json: { apiKey: 'the-next-key-of-it', graceSeconds: 60 } })
    await service.call('listCategories', { key: 'a-wrong-key', params })
    await service.call('listCategories', { key: 'a-wrong-key', params })
    const { entries, isMore } = await service.ok('listAudit', admin)
    const [rejected, rotated, changed, created] = entries
    assert.equal(isMore, false)
    assert.deepEqual(
      { ...rejected, address: rejected.address.replace('::ffff:', '') },
      { id: rejected.id, at: rejected.at, type: 'rejected', reason: 'unknown', address: '127.0.0.1', count: 2 },
    )
    assert.deepEqual([rotated.type, rotated.actor, rotated.systemId], ['rotated', systems.A, systems.R])
    assert.deepEqual([changed.type, changed.actor, changed.values], ['changed', systems.A, { name: 'reader' }])
    assert.deepEqual([created.type, created.actor], ['created', 'operator'])
    assert.deepEqual(created.values, { name: 'A', permissions: 'A' })
    assert.equal(entries.length, 7)
    const page = await service.ok('listAudit', { ...admin, query: { len: '2', last: rejected.id } })
    assert.deepEqual(page, { entries: [rotated, changed], isMore: true })
    assert.deepEqual(
      await service.ok('listAudit', { ...admin, query: { len: '2', last: rejected.id.toUpperCase() } }),
      page,
    )
    assert.equal((await service.ok('listAudit', { ...admin, query: { len: '100000' } })).entries.length, 7)
    for (const query of [{ len: '0' }, { len: 'x' }, { after: rejected.id }])
      await service.fails('listAudit', 400, 'VALIDATION_ERROR', { ...admin, query })
  })

  it('companies: lists them with their counts, for the operator', async () => {
    await service.company('zz-last')
    const { companies, isMore } = await service.ok('listCompanies', { key: OPERATOR_KEY })
    const last = companies.at(-1)
    assert.deepEqual(last, {
      id: 'zz-last',
      createdAt: last.createdAt,
      sourceSystemCount: 4,
      categoryCount: 0,
      evidenceCount: 0,
    })
    assert.equal(isMore, false)
    const { id } = companies[0]
    const page = await service.ok('listCompanies', { key: OPERATOR_KEY, query: { last: id, len: '1' } })
    assert.deepEqual(page, { companies: [companies[1]], isMore: companies.length > 2 })
    await service.fails('listCompanies', 400, 'VALIDATION_ERROR', { key: OPERATOR_KEY, query: { last: 'a/b' } })
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
