import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PermissionLevel } from '../../../core/index.ts'
import { CompanyRequests } from '../../support/company-requests.ts'
import { OPERATOR_KEY } from '../../support/service.ts'

const OWN_KEY = 'own-key-of-the-caller'

describe('source systems', () => {
  const acme = new CompanyRequests()

  const asLevel = (level: PermissionLevel) => ({ key: acme.company.keys[level] })
  const create = (json: object) => acme.ok('createSourceSystem', { ...asLevel('A'), json })
  const system = (SYSTEM_ID: string) => ({ ...asLevel('A'), params: { SYSTEM_ID } })
  const update = (id: string, json: object) => acme.ok('updateSourceSystem', { ...system(id), json })
  const readListed = async (id: string) => {
    const { sourceSystems, count } = await acme.ok('listSourceSystems', asLevel('A'))
    assert.equal(count, sourceSystems.length)
    return sourceSystems.find((each: { id: string }) => each.id === id)
  }
  const works = async (key: string): Promise<boolean> => (await acme.call('checkSourceSystem', { key })).status === 200

  it('16: get a key of 256 bits if the request has none, which is shown once', async () => {
    const { id, apiKey } = await create({ name: 'made' })
    assert.equal(Buffer.from(apiKey, 'base64url').length, 32)
    assert.ok(await works(apiKey))
    const listed = await readListed(id)
    const { createdAt, lastUsedAt } = listed
    assert.match(lastUsedAt, /:00\.000Z$/)
    assert.deepEqual(listed, { id, name: 'made', permissions: 'U', active: true, createdAt, lastUsedAt })
    assert.deepEqual(await acme.ok('getSourceSystem', system(id)), listed)
    await acme.fails('getSourceSystem', 404, 'SOURCE_SYSTEM_NOT_FOUND', system('unknown'))
  })

  it("16: never show a caller's own key", async () => {
    const json = { name: 'own', apiKey: OWN_KEY, permissions: 'R' }
    const created = await acme.call('createSourceSystem', { ...asLevel('A'), json })
    assert.deepEqual([created.status, Object.keys(created.body)], [201, ['id']])
  })

  it('16, 17: null and empty values are wrong', async () => {
    const { id } = await create({ name: 'strict' })
    for (const wrong of [{ name: null }, { name: '' }, { name: 'x', apiKey: null }, { name: 'x', apiKey: '' }]) {
      await acme.fails('createSourceSystem', 400, 'VALIDATION_ERROR', { ...asLevel('A'), json: wrong })
      await acme.fails('updateSourceSystem', 400, 'VALIDATION_ERROR', { ...system(id), json: wrong })
    }
  })

  it('16, 17: accept expiresAt, a time in any form of RFC 3339', async () => {
    const year = new Date().getUTCFullYear() + 1
    const { id } = await create({ name: 'expires', expiresAt: `${year}-01-31T14:00:00+02:00` })
    assert.equal((await readListed(id)).expiresAt, `${year}-01-31T12:00:00.000Z`)
    await update(id, { expiresAt: `${year}-02-28T12:00:00Z` })
    assert.equal((await readListed(id)).expiresAt, `${year}-02-28T12:00:00.000Z`)
    const wrong = [`${year}-02-30T12:00:00Z`, `${year}-01-31T24:00:00Z`, `${year}-01-31`]
    for (const expiresAt of [...wrong, '2020-01-01T00:00:00Z', 'soon', null, '', 7]) {
      const request = { ...asLevel('A'), json: { name: 'never', expiresAt } }
      const { body } = await acme.fails('createSourceSystem', 400, 'VALIDATION_ERROR', request)
      assert.match(body.error, /^expiresAt must be a /)
    }
  })

  it('17: clear removes the expiry, which the audit trail says once', async () => {
    const expiresAt = `${new Date().getUTCFullYear() + 1}-01-31T12:00:00.000Z`
    const { id } = await create({ name: 'expiring', expiresAt })
    const both = { ...system(id), json: { expiresAt, clear: ['expiresAt'] } }
    const { body } = await acme.fails('updateSourceSystem', 400, 'VALIDATION_ERROR', both)
    assert.match(body.error, /^expiresAt must not be both cleared and given/)
    await update(id, { name: 'endless' })
    assert.equal((await readListed(id)).expiresAt, expiresAt)
    for (const json of [{ clear: ['expiresAt'] }, { clear: ['expiresAt'], active: false }]) await update(id, json)
    assert.equal((await readListed(id)).expiresAt, undefined)
    const { entries } = await acme.ok('listAudit', asLevel('A'))
    const values = entries
      .filter((each: { systemId?: string }) => each.systemId === id)
      .map((each: { values: object }) => each.values)
    assert.deepEqual(values.slice(0, 3), [{ active: false }, { clear: ['expiresAt'] }, { name: 'endless' }])
  })

  it('17: take key, graceSeconds, name, level and state, and show what they are then', async () => {
    const { id, apiKey } = await create({ name: 'rotated' })
    const change = { apiKey: 'the-next-key-of-it', graceSeconds: 604_800, name: 'renamed', permissions: 'R' }
    assert.deepEqual(await update(id, change), { status: 'ok' })
    assert.deepEqual([await works(apiKey), await works(change.apiKey)], [true, true])
    const { name, permissions, active, replacedKeyEndsAt } = await readListed(id)
    assert.deepEqual([name, permissions, active], ['renamed', 'R', true])
    const days = (Date.parse(replacedKeyEndsAt) - Date.now()) / 86_400_000
    assert.ok(days > 6.9 && days <= 7)
    await update(id, { active: false })
    assert.equal((await readListed(id)).active, false)
    const unknown = { ...system('healthz'), json: { active: true } }
    await acme.fails('updateSourceSystem', 404, 'SOURCE_SYSTEM_NOT_FOUND', unknown)
  })

  it('self: is the key in the request', async () => {
    const own = { id: acme.company.systems.I, name: 'I', permissions: 'I' }
    assert.deepEqual(await acme.ok('getOwnSourceSystem', asLevel('I')), own)
    const operator = { key: OPERATOR_KEY }
    assert.deepEqual(await acme.ok('getOwnSourceSystem', operator), { name: 'operator', permissions: 'A' })
    const elsewhere = { ...operator, params: { COMPANY_ID: 'unknown' } }
    await acme.fails('getOwnSourceSystem', 404, 'COMPANY_NOT_FOUND', elsewhere)
  })

  it('audit: lists changes, rejected keys and file tokens, in pages', async () => {
    const { id: COMPANY_ID, keys, systems } = await acme.service.company('audited')
    const admin = { key: keys.A, params: { COMPANY_ID } }
    const reader = { ...admin, params: { COMPANY_ID, SYSTEM_ID: systems.R } }
    await acme.ok('updateSourceSystem', { ...reader, json: { name: 'reader' } })
    await acme.ok('updateSourceSystem', { ...reader, json: { apiKey: 'the-next-key-of-it', graceSeconds: 60 } })
    for (let i = 0; i < 2; i++) await acme.call('listCategories', { ...admin, key: 'a-wrong-key' })
    const { entries, isMore } = await acme.ok('listAudit', admin)
    const [rejected, rotated, changed, created] = entries
    assert.deepEqual([entries.length, isMore], [7, false])
    const { id, at, address } = rejected
    assert.deepEqual(rejected, { id, at, type: 'rejected', reason: 'unknown', address, count: 2 })
    assert.equal(address.replace('::ffff:', ''), '127.0.0.1')
    assert.deepEqual([rotated.type, rotated.actor, rotated.systemId], ['rotated', systems.A, systems.R])
    assert.deepEqual([changed.type, changed.actor, changed.values], ['changed', systems.A, { name: 'reader' }])
    assert.deepEqual([created.type, created.actor], ['created', 'operator'])
    assert.deepEqual(created.values, { name: 'A', permissions: 'A' })
    const page = { entries: [rotated, changed], isMore: true }
    for (const last of [id, id.toUpperCase()])
      assert.deepEqual(await acme.ok('listAudit', { ...admin, query: { len: '2', last } }), page)
    assert.equal((await acme.ok('listAudit', { ...admin, query: { len: '100000' } })).entries.length, 7)
    for (const query of [{ len: '0' }, { len: 'x' }, { after: id }])
      await acme.fails('listAudit', 400, 'VALIDATION_ERROR', { ...admin, query })
  })

  it('companies: are listed with their counts, for the operator', async () => {
    const operator = { key: OPERATOR_KEY }
    await acme.service.company('zz-last')
    const { companies, isMore } = await acme.ok('listCompanies', operator)
    const last = companies.at(-1)
    const counts = { sourceSystemCount: 4, categoryCount: 0, evidenceCount: 0 }
    assert.deepEqual([last, isMore], [{ id: 'zz-last', createdAt: last.createdAt, ...counts }, false])
    const page = await acme.ok('listCompanies', { ...operator, query: { last: companies[0].id, len: '1' } })
    assert.deepEqual(page, { companies: [companies[1]], isMore: companies.length > 2 })
    await acme.fails('listCompanies', 400, 'VALIDATION_ERROR', { ...operator, query: { last: 'a/b' } })
  })
})
