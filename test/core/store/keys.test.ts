import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { assertKey } from '../../../core/store/commit-plan.ts'
import { keys } from '../../../core/store/keys.ts'

const { key, under } = keys
const wellFormed = fc.string({ unit: 'binary', maxLength: 12 }).filter((part) => part.isWellFormed())
/** Parts that look like what the encoding itself writes, and some beyond the length that is kept. */
const nasty = fc.constantFrom('', '/', '%', '%2F', '.', '..', '~', '0', 'a/b', 'a', 'a%', '\0', 'é', 'e\u0301')
const long = fc.tuple(wellFormed, fc.integer({ min: 390, max: 410 })).map(([end, length]) => 'x'.repeat(length) + end)
const part = fc.oneof(wellFormed, nasty, long)
const parts = fc.array(part, { minLength: 1, maxLength: 4 })

describe('record keys', () => {
  it('are different for different tuples', () => {
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        const same = a.length === b.length && a.every((value, i) => value === b[i])
        assert.equal(key('xx', ...a) === key('xx', ...b), same)
      }),
      { numRuns: 2_000 },
    )
  })

  it('are different for every way to cut one text into parts', () => {
    fc.assert(
      fc.property(part, fc.nat(), fc.nat(), (whole, i, j) => {
        const cut = (at: number): string => key('xx', whole.slice(0, at), whole.slice(at))
        const [a, b] = [i % (whole.length + 1), j % (whole.length + 1)]
        // Halves of a surrogate pair are no parts.
        fc.pre([a, b].every((at) => whole.slice(0, at).isWellFormed() && whole.slice(at).isWellFormed()))
        assert.equal(cut(a) === cut(b), a === b)
      }),
    )
  })

  it('lie in the range of exactly their own beginning', () => {
    fc.assert(
      fc.property(parts, parts, part, (a, b, last) => {
        const { gte, lt } = under(key('xx', ...a))
        const inside = (candidate: string): boolean => candidate >= gte && candidate < lt
        assert.ok(inside(key('xx', ...a, last)))
        const begins = b.length >= a.length && a.every((value, i) => value === b[i])
        assert.equal(inside(key('xx', ...b, last)), begins)
      }),
      { numRuns: 2_000 },
    )
  })

  it('sort by their numbers', () => {
    const size = fc.oneof(fc.maxSafeNat(), fc.nat(70_000))
    fc.assert(
      fc.property(size, size, (a, b) => {
        assert.equal(keys.batch(a) < keys.batch(b), a < b)
        assert.equal(keys.event('x', a) < keys.event('x', b), a < b)
        const { gte, lt } = keys.batchesFrom(a)
        assert.equal(keys.batch(b) >= gte && keys.batch(b) < lt, b >= a)
        const expired = keys.idempotencyExpired(a)
        const expiry = keys.idempotencyExpiry(b, 'id')
        assert.equal(expiry >= expired.gte && expiry < expired.lt, b < a)
      }),
    )
  })

  it('are what a store takes, for the longest parts that are legal and for any others', () => {
    const [astral, company] = ['\u{1F600}', 'C'.repeat(64)]
    const id = '01890000-0000-7000-8000-000000000000'
    const longest = [
      keys.externalId(astral.repeat(128), company),
      keys.categoryName(company, astral.repeat(256)),
      keys.subcategoryName(id, astral.repeat(256)),
      keys.sourceSystemName(company, astral.repeat(256)),
      keys.idempotency(company, id, `PUT /evidence/${astral.repeat(128)}`, '%'.repeat(255)),
      keys.evidenceIn('company', company, id),
      keys.category(company, astral.repeat(100_000)),
      keys.category(company, 'x'.repeat(100_000)),
    ]
    for (const each of longest) {
      assert.ok(each.length <= 2_048, `${each.slice(0, 20)}… has ${each.length}`)
      assertKey(each)
    }
    fc.assert(
      fc.property(parts, (some) => {
        assertKey(key('xx', ...some))
      }),
    )
  })

  it('are different for names of which only the end differs, however long', () => {
    const name = (end: string): string => 'é'.repeat(255) + end
    assert.notEqual(keys.categoryName('c', name('a')), keys.categoryName('c', name('b')))
  })

  it('have families that cannot meet', () => {
    const id = 'x'
    const one = [
      keys.operator(),
      keys.company(id),
      keys.sourceSystem(id, id),
      keys.sourceSystemName(id, id),
      keys.apiKey(id),
      keys.category(id, id),
      keys.categoryName(id, id),
      keys.subcategory(id, id),
      keys.subcategoryOf(id, id),
      keys.subcategoryName(id, id),
      keys.subcategoryCount(id),
      keys.evidence(id),
      keys.externalId(id, id),
      keys.evidenceIn('company', id, id),
      keys.evidenceCount('company', id),
      keys.event(id, 1),
      keys.transaction(id),
      keys.file(id),
      keys.fileOf(id, id),
      keys.blobIntent(id),
      keys.pendingDeletion(id),
      keys.idempotency(id, id, id, id),
      keys.idempotencyExpiry(1, id),
      keys.logIdentity(),
      keys.controlOpening(id),
      keys.treeHead(),
      keys.tile(1, 1),
      keys.batch(1),
      keys.batchById(id),
      keys.batchByRoot(id),
      keys.checkpoint(1),
      keys.stamp(1),
      keys.anchor(1),
      keys.confirmedAnchor(1),
      keys.anchorHead(),
    ]
    const families = one.map((each) => each.split('/')[0])
    assert.equal(new Set(families).size, one.length)
  })
})
