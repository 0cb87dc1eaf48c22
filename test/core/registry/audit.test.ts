import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { OPERATOR, type AuditEntry, type Scope } from '../../../core/index.ts'
import { MAX_ACCESS_ENTRIES } from '../../../core/registry/company/audit.ts'
import { encodeCounter } from '../../../core/store/counter.ts'
import { putRecord } from '../../../core/store/entries.ts'
import { keys } from '../../../core/store/keys.ts'
import { countCommits } from '../../support/count-commits.ts'
import { assertIntact, COMPANY, openFixture, Stores, it, type Fixture } from '../../support/registry-fixture.ts'
import { recordingLogger } from '../../support/recording-logger.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

const KEY = 'a-key-of-more-than-16-characters'
const MINUTE_MS = 60_000
const operatorIn = (companyId: string): Scope => ({ companyId, principal: OPERATOR })

/** The newest entries, oldest first, without their ids and times. */
async function entriesOf({ registry, scope }: Fixture, count: number): Promise<readonly object[]> {
  const { items } = await registry.sourceSystems.audit(scope, { limit: count })
  return items.map(({ id: _, at: __, ...entry }) => entry).reverse()
}

describe('the audit trail', () => {
  it('says who created, changed and rotated a source system', async (fixture) => {
    const { registry, scope, system, clock } = fixture
    const { scope: admin, id: actor } = await system('A')
    const expiresAt = new Date(clock.now() + MINUTE_MS)
    const { id: systemId } = await registry.sourceSystems.create(admin, { name: 'scanner', expiresAt })
    await registry.sourceSystems.update(scope, systemId, { name: 'printer', permissions: 'R', active: true })
    await registry.sourceSystems.update(admin, systemId, { apiKey: KEY, graceSeconds: 60, active: false })
    await registry.sourceSystems.update(admin, systemId, { apiKey: `${KEY}-2` })
    assert.deepEqual(await entriesOf(fixture, 5), [
      { type: 'created', actor, systemId, values: { name: 'scanner', permissions: 'U', expiresAt } },
      { type: 'changed', actor: 'operator', systemId, values: { name: 'printer', permissions: 'R' } },
      { type: 'changed', actor, systemId, values: { active: false } },
      { type: 'rotated', actor, systemId, replacedKeyEndsAt: new Date(clock.now() + MINUTE_MS) },
      { type: 'rotated', actor, systemId },
    ])
    // What changes nothing is not an entry.
    await registry.sourceSystems.update(admin, systemId, { active: false, apiKey: `${KEY}-2` })
    assert.equal((await entriesOf(fixture, 1)).length, 1)
    assert.deepEqual(await entriesOf(fixture, 1), [{ type: 'rotated', actor, systemId }])
    await assertIntact(fixture)
  })

  it('names rejected keys by reason and address, and counts equal ones', async (fixture) => {
    const { registry, scope, system, clock } = fixture
    const present = (apiKey: string, address?: string) =>
      registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey, ...(address && { address }) })
    const inactive = await system('U')
    await registry.sourceSystems.update(scope, inactive.id, { active: false })
    const expiresAt = new Date(clock.now() + 1)
    const expired = await registry.sourceSystems.create(scope, { name: 'expired', apiKey: KEY, expiresAt })
    const replaced = await system('U')
    await registry.sourceSystems.update(scope, replaced.id, { apiKey: `${KEY}-2`, graceSeconds: 1 })
    await clock.advance(1_000)
    for (let i = 0; i < 3; i++) await present('a-wrong-key', '192.0.2.1')
    await present('another-wrong-key')
    await present(inactive.apiKey, '192.0.2.1')
    await present(KEY, '192.0.2.1')
    await present(replaced.apiKey, '192.0.2.1')
    const address = '192.0.2.1'
    assert.deepEqual(await entriesOf(fixture, 5), [
      { type: 'rejected', reason: 'unknown', address, count: 3 },
      { type: 'rejected', reason: 'unknown', count: 1 },
      { type: 'rejected', reason: 'inactive', systemId: inactive.id, address, count: 1 },
      { type: 'rejected', reason: 'expired', systemId: expired.id, address, count: 1 },
      { type: 'rejected', reason: 'replaced', systemId: replaced.id, address, count: 1 },
    ])
    await assertIntact(fixture)
  })

  it('says who made tokens for a file', async (fixture) => {
    const { registry, system, stage, evidence } = fixture
    const file = await stage()
    await evidence({ files: [file] })
    const { scope: reader, id } = await system('R')
    await registry.files.createToken(reader, file.id)
    await registry.files.createToken(reader, file.id)
    await registry.files.createToken(fixture.scope, file.id)
    assert.deepEqual(await entriesOf(fixture, 2), [
      { type: 'fileToken', actor: id, fileId: file.id, count: 2 },
      { type: 'fileToken', actor: 'operator', fileId: file.id, count: 1 },
    ])
  })

  test('contains no key, nor an HMAC of one, and neither does the log', async (t) => {
    const { logger, lines } = recordingLogger()
    const { registry, scope, stores } = await openFixture({ t, registry: { logger } })
    const { id } = await registry.sourceSystems.create(scope, { name: 'a', apiKey: KEY })
    await registry.sourceSystems.update(scope, id, { apiKey: `${KEY}-2`, graceSeconds: 60 })
    await registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey: 'a-wrong-key-of-a-client' })
    const { items } = await registry.sourceSystems.audit(scope)
    const macs = (await stores.keysOf('sk')).map((key) => key.slice(3))
    let stored = ''
    for await (const { value } of stores.records.list(keys.allAudit())) stored += Buffer.from(value).toString()
    for (const secret of [KEY, 'a-wrong-key', ...macs])
      assert.ok(!(JSON.stringify(items) + stored + JSON.stringify(lines)).includes(secret), secret)
  })

  it('is paged, newest first, and each company has its own', async ({ registry, scope, system }) => {
    for (let i = 0; i < 4; i++) await registry.sourceSystems.create(scope, { name: `s${i}` })
    await system('A', 'other')
    for (let i = 0; i < 4; i++) {
      await registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey: `wrong-${i}`, address: `a${i}` })
      await registry.sourceSystems.create(scope, { name: `t${i}` })
    }
    const all = (await registry.sourceSystems.audit(scope)).items
    // The first source system of the company, 8 others, 4 wrong keys.
    assert.equal(all.length, 13)
    assert.deepEqual(
      all.map(({ id }) => id),
      all
        .map(({ id }) => id)
        .toSorted()
        .reverse(),
    )
    const paged: AuditEntry[] = []
    for (let after: string | undefined; ;) {
      const page = await registry.sourceSystems.audit(scope, { limit: 3, ...(after !== undefined && { after }) })
      paged.push(...page.items)
      after = page.items.at(-1)?.id
      if (!page.hasMore) break
    }
    assert.deepEqual(paged, all)
    assert.equal((await registry.sourceSystems.audit(operatorIn('other'))).items.length, 1)
    await rejectsWith('VALIDATION_ERROR', registry.sourceSystems.audit(scope, { limit: 0 }))
  })

  test('costs one commit a minute, however many keys are tried, and ignores companies that do not exist', async (t) => {
    const stores = new Stores()
    const commits = countCommits(stores.records)
    const fixture = await openFixture({ t, stores })
    const { registry, clock } = fixture
    const before = commits.count
    for (let i = 0; i < 100; i++) {
      await registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey: `wrong-${i}`, address: `a${i % 10}` })
      await registry.sourceSystems.authenticate({ companyId: `unknown-${i}`, apiKey: 'wrong' })
    }
    assert.equal(commits.count, before)
    await clock.advance(MINUTE_MS)
    assert.equal(commits.count, before + 1)
    assert.equal((await entriesOf(fixture, 1_000)).length, 11)
    assert.deepEqual((await stores.keysOf('at')).toSorted(), [`at/change/${COMPANY}`, `at/unknown/${COMPANY}`])
  })

  for (const [when, name] of [
    ['before', 'could not be written'],
    ['after', 'were written with an unknown outcome'],
  ] as const)
    it(`has each entry once if entries ${name} at first`, async (fixture) => {
      const { registry, clock, process } = fixture
      await registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey: KEY })
      process.fail(1, when)
      await clock.advance(MINUTE_MS)
      await registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey: KEY })
      await clock.advance(MINUTE_MS)
      const rejected = { type: 'rejected', reason: 'unknown', count: 1 }
      assert.deepEqual(await entriesOf(fixture, 2), [rejected, rejected])
      await assertIntact(fixture)
    })

  it('keeps the newest unknown keys apart from the newest other uses, and every change', async (fixture) => {
    const { registry, scope, stores } = fixture
    const idOf = (i: number): string => `01800000-0000-7000-8000-${i.toString(16).padStart(12, '0')}`
    const old = Array.from({ length: MAX_ACCESS_ENTRIES }, (_, i) =>
      putRecord(keys.audit('unknown', COMPANY, idOf(i)), {
        id: idOf(i),
        at: i,
        type: 'rejected',
        reason: 'unknown',
        count: 1,
      }),
    )
    const counter = { key: keys.auditCount('unknown', COMPANY), value: encodeCounter(BigInt(MAX_ACCESS_ENTRIES)) }
    const known = putRecord(keys.audit('access', COMPANY, idOf(0)), {
      id: idOf(0),
      at: 0,
      type: 'rejected',
      reason: 'inactive',
      count: 1,
    })
    const one = { key: keys.auditCount('access', COMPANY), value: encodeCounter(1n) }
    await stores.records.commit({ writes: [...old, counter, known, one] })
    const other = await openFixture({ stores })
    // Entries of two servers in one ms are in any order.
    await other.clock.advance(1)
    await other.registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey: 'one', address: 'one' })
    await fixture.clock.advance(2)
    await registry.sourceSystems.authenticate({ companyId: COMPANY, apiKey: 'two', address: 'two' })
    // The other server writes between the reads of this one and its commit.
    fixture.process.interleave(() => other.registry.sourceSystems.audit(scope))
    const { items } = await registry.sourceSystems.audit(scope, { limit: 3 })
    await other.close()
    const shown = items.map((entry) => entry.type === 'rejected' && entry.address)
    assert.deepEqual(shown, ['two', 'one', false])
    const kept = (await stores.keysOf('au')).filter((key) => key.startsWith('au/unknown/'))
    assert.equal(kept.length, MAX_ACCESS_ENTRIES)
    assert.equal(kept[0], keys.audit('unknown', COMPANY, idOf(2)))
    assert.ok((await stores.keysOf('au')).includes(known.key))
    await assertIntact(fixture)
  })
})

describe('the list of companies', () => {
  it('has creation and counts, is paged, and only the operator sees it', async (fixture) => {
    const { registry, system, evidence, clock } = fixture
    await evidence()
    const createdAt = new Date(clock.now())
    const { scope: admin } = await system('A', 'b')
    await system('A', 'B.c')
    const { items, hasMore } = await registry.companies.list(OPERATOR)
    const none = { createdAt, sourceSystemCount: 1, categoryCount: 0, evidenceCount: 0 }
    assert.deepEqual(items, [
      { id: 'B.c', ...none },
      { id: COMPANY, createdAt, sourceSystemCount: 1, categoryCount: 1, evidenceCount: 1 },
      { id: 'b', ...none },
    ])
    assert.equal(hasMore, false)
    const first = await registry.companies.list(OPERATOR, { limit: 2 })
    assert.deepEqual([first.items, first.hasMore], [items.slice(0, 2), true])
    const second = await registry.companies.list(OPERATOR, { limit: 2, after: COMPANY })
    assert.deepEqual([second.items, second.hasMore], [items.slice(2), false])
    await rejectsWith('FORBIDDEN', registry.companies.list(admin.principal))
    await rejectsWith('FORBIDDEN', registry.companies.list({ kind: 'anonymous' }))
  })
})
