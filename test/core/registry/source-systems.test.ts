import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { OPERATOR, type NewSourceSystem, type Scope } from '../../../core/index.ts'
import { deriveSecret } from '../../../core/platform/node.ts'
import { COMPANY, openFixture, it, Stores } from '../../support/registry-fixture.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

const KEY = 'a-key-of-more-than-16-characters'
const WITH_KEY = { registry: { operatorKey: KEY } }
const operatorIn = (companyId: string): Scope => ({ companyId, principal: OPERATOR })

describe('source systems', () => {
  it('are found by their key in their own company only', async ({ registry, system }) => {
    const { apiKey, scope, id } = await system('I')
    const other = await system('A', 'other')
    const { principal } = scope
    assert.deepEqual(principal, { kind: 'sourceSystem', id, companyId: COMPANY, permissions: 'I' })
    assert.deepEqual(await registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey }), principal)
    for (const [company, key] of [
      ['other', apiKey],
      [COMPANY, other.apiKey],
      ['unknown', apiKey],
      [COMPANY, `${apiKey}x`],
      [COMPANY, apiKey.toUpperCase()],
      [COMPANY, ''],
      [`${COMPANY}\0${apiKey}`, ''],
    ] as const)
      assert.equal(
        await registry.sourceSystems.authenticate({ companyId: company, apiKey: key }),
        undefined,
        `${company} ${key}`,
      )
  })

  it('are stored without their keys, which are stored only as HMAC-SHA-256 under a derived secret', async (fixture) => {
    const { stores, registry, scope } = fixture
    await registry.sourceSystems.create(scope, { name: 'own', apiKey: KEY })
    const made = await registry.sourceSystems.create(scope, { name: 'made' })
    const mac = createHmac('sha256', deriveSecret(stores.secret, 'api-key')).update(`${COMPANY}\0${KEY}`).digest('hex')
    assert.ok((await stores.keysOf('sk')).includes(`sk/${mac}`))
    for await (const { key, value } of stores.records.list({ gte: ' ', lt: '~' })) {
      const stored = key + Buffer.from(value).toString('latin1')
      for (const secret of [KEY, made.apiKey as string]) assert.ok(!stored.includes(secret), `${key} holds a key`)
    }
    assert.ok(!JSON.stringify(await registry.sourceSystems.list(scope)).includes(mac))
  })

  it('have names and keys that are unique in the company', async ({ registry, scope }) => {
    const made = (company: Scope, input: NewSourceSystem) => registry.sourceSystems.create(company, input)
    await made(scope, { name: 'a', apiKey: KEY })
    await rejectsWith('NAME_EXISTS', made(scope, { name: 'a' }))
    await rejectsWith('KEY_EXISTS', made(scope, { name: 'b', apiKey: KEY }))
    await made(operatorIn('other'), { name: 'a', apiKey: KEY })
    assert.equal((await registry.sourceSystems.list(scope)).length, 2)
  })

  it('can authenticate with a new key only, once it is replaced', async ({ registry, system, scope }) => {
    const { apiKey, scope: own, id } = await system('U')
    await registry.sourceSystems.update(scope, id, { apiKey: KEY })
    assert.equal(await registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey }), undefined)
    assert.deepEqual(await registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey: KEY }), own.principal)
    // The old key is free again, and the new one is in use.
    await registry.sourceSystems.create(scope, { name: 'next', apiKey })
    await rejectsWith('KEY_EXISTS', registry.sourceSystems.update(scope, id, { apiKey }))
    await registry.sourceSystems.update(scope, id, { apiKey: KEY })
    assert.ok(await registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey: KEY }))
  })

  it('cannot authenticate while they are inactive, and can be changed', async ({ registry, system, scope }) => {
    const { apiKey, id } = await system('I')
    await registry.sourceSystems.update(scope, id, { active: false })
    assert.equal(await registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey }), undefined)
    await registry.sourceSystems.update(scope, id, { apiKey: KEY, name: 'renamed', permissions: 'R' })
    assert.equal(await registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey: KEY }), undefined)
    await registry.sourceSystems.update(scope, id, { active: true })
    assert.deepEqual(await registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey: KEY }), {
      kind: 'sourceSystem',
      id,
      companyId: COMPANY,
      permissions: 'R',
    })
    await registry.sourceSystems.create(scope, { name: apiKey }) // The old name is free.
    await rejectsWith('NAME_EXISTS', registry.sourceSystems.create(scope, { name: 'renamed' }))
  })

  it('keep name and key if a change of both is rejected', async ({ registry, system, scope }) => {
    const { apiKey, id } = await system('U')
    await rejectsWith('NAME_EXISTS', registry.sourceSystems.update(scope, id, { apiKey: KEY, name: 'first' }))
    assert.ok(await registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey }))
    assert.equal(await registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey: KEY }), undefined)
    await rejectsWith('VALIDATION_ERROR', registry.sourceSystems.update(scope, id, {}))
    await rejectsWith('VALIDATION_ERROR', registry.sourceSystems.update(scope, id, { apiKey: 'short' }))
  })

  it('are not found in another company', async ({ registry, system, scope }) => {
    const { id } = await system('U', 'other')
    await rejectsWith('SOURCE_SYSTEM_NOT_FOUND', registry.sourceSystems.update(scope, id, { active: false }))
    await rejectsWith('SOURCE_SYSTEM_NOT_FOUND', registry.sourceSystems.update(scope, 'x', { active: false }))
  })
})

describe('companies', () => {
  it('exist from their first source system on, which only the operator can create', async ({ registry, stores }) => {
    const scope = operatorIn('new-one')
    await rejectsWith('COMPANY_NOT_FOUND', registry.sourceSystems.list(scope))
    await rejectsWith('COMPANY_NOT_FOUND', registry.categories.list(scope))
    await rejectsWith('COMPANY_NOT_FOUND', registry.evidences.list(scope))
    await rejectsWith('COMPANY_NOT_FOUND', registry.categories.create(scope, { name: 'a' }))
    await registry.sourceSystems.create(scope, { name: 'first' })
    assert.deepEqual(await registry.evidences.list(scope), {
      items: [],
      count: 0,
      countIsMore: false,
      hasMore: false,
    })
    assert.ok((await stores.keysOf('co')).includes('co/new-one'))
  })

  it('are not created by a source system that was rejected', WITH_KEY, async ({ registry }) => {
    const scope = operatorIn('new-one')
    await rejectsWith('KEY_EXISTS', registry.sourceSystems.create(scope, { name: 'a', apiKey: KEY }))
    await rejectsWith('COMPANY_NOT_FOUND', registry.sourceSystems.list(scope))
  })

  it('are created once if several first source systems race', async ({ registry }) => {
    const scope = operatorIn('new-one')
    await Promise.all(['a', 'b', 'c'].map((name) => registry.sourceSystems.create(scope, { name })))
    assert.equal((await registry.sourceSystems.list(scope)).length, 3)
  })

  it('have ids of the documented form', async ({ registry }) => {
    for (const id of ['', '.', '..', 'a/b', 'a b', 'x'.repeat(65)])
      await rejectsWith('VALIDATION_ERROR', registry.sourceSystems.create(operatorIn(id), { name: 'a' }))
  })
})

describe('the operator key', () => {
  it('authenticates in every company, and no source system can have it', WITH_KEY, async (fixture) => {
    const { registry, scope, system } = fixture
    assert.ok(registry.sourceSystems.hasOperatorKey())
    for (const company of [COMPANY, 'unknown'])
      assert.deepEqual(await registry.sourceSystems.authenticate({ companyId: company, apiKey: KEY }), OPERATOR)
    const { id } = await system('U')
    await rejectsWith('KEY_EXISTS', registry.sourceSystems.update(scope, id, { apiKey: KEY }))
  })

  test('is stored as a hash, stays valid at a later start, and is invalid after another one is set', async (t) => {
    const stores = new Stores()
    const first = await openFixture({ stores, ...WITH_KEY })
    for await (const { key, value } of stores.records.list({ gte: ' ', lt: '~' }))
      assert.ok(!(key + Buffer.from(value).toString('latin1')).includes(KEY), key)
    await first.close()
    const { registry } = await openFixture({ t, stores })
    assert.deepEqual(await registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey: KEY }), OPERATOR)
    await registry.sourceSystems.setOperatorKey(`${KEY}-2`)
    assert.equal(await registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey: KEY }), undefined)
    assert.deepEqual(await registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey: `${KEY}-2` }), OPERATOR)
    await rejectsWith('CONFIG_ERROR', registry.sourceSystems.setOperatorKey('too-short'))
  })

  test('is valid at once if another process sets it, and `onlyIfNone` sets it once', async (t) => {
    const stores = new Stores()
    const here = await openFixture({ t, stores, records: { isShared: true } })
    const there = await openFixture({ t, stores, records: { isShared: true } })
    const [own, other] = [here.registry.sourceSystems, there.registry.sourceSystems]
    const set = await Promise.all([
      own.setOperatorKey(KEY, { onlyIfNone: true }),
      other.setOperatorKey(`${KEY}-2`, { onlyIfNone: true }),
    ])
    assert.deepEqual(set, [true, false])
    assert.deepEqual(await other.authenticate({ companyId: COMPANY, apiKey: KEY }), OPERATOR)
    assert.equal(await other.authenticate({ companyId: COMPANY, apiKey: `${KEY}-2` }), undefined)
    await other.setOperatorKey(`${KEY}-3`)
    assert.equal(await own.authenticate({ companyId: COMPANY, apiKey: KEY }), undefined)
    assert.deepEqual(await own.authenticate({ companyId: COMPANY, apiKey: `${KEY}-3` }), OPERATOR)
    // Back to the key that the first process knows of.
    await other.setOperatorKey(`${KEY}-4`)
    assert.equal(await own.setOperatorKey(`${KEY}-3`), true)
    assert.deepEqual(await other.authenticate({ companyId: COMPANY, apiKey: `${KEY}-3` }), OPERATOR)
    assert.equal(await other.authenticate({ companyId: COMPANY, apiKey: `${KEY}-4` }), undefined)
  })

  test('takes precedence over an equal key of a source system, also if that was just used', async (t) => {
    const stores = new Stores()
    const here = await openFixture({ t, stores, registry: { operatorKey: KEY }, records: { isShared: true } })
    const there = await openFixture({ t, stores, records: { isShared: true } })
    const { apiKey, id } = await here.system('R')
    const authenticate = () => here.registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey })
    const system = { kind: 'sourceSystem', id, companyId: COMPANY, permissions: 'R' }
    assert.deepEqual([await authenticate(), await authenticate()], [system, system])
    await there.registry.sourceSystems.setOperatorKey(apiKey)
    assert.deepEqual([await authenticate(), await authenticate()], [OPERATOR, OPERATOR])
    await here.registry.sourceSystems.setOperatorKey(`${KEY}-2`)
    assert.deepEqual([await authenticate(), await authenticate()], [system, system])
  })

  it('does not exist before it is set', async ({ registry }) => {
    assert.equal(registry.sourceSystems.hasOperatorKey(), false)
    assert.equal(await registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey: KEY }), undefined)
  })
})
