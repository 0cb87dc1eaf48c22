import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { assertKey } from '../../../core/store/commit-plan.ts'
import type { CategoryId, CompanyId } from '../../../core/api/scope.ts'
import { logKeys } from '../../../core/log/keys.ts'
import { FAMILIES } from '../../../core/ops/check/families.ts'
import { hashOfOwner, keys, keysUnder as under, recordKey as key, searchableKey } from '../../../core/store/keys.ts'
import { decodeRecord } from '../../../core/store/codec.ts'
import { putRecord } from '../../../core/store/entries.ts'
import { codePoint } from '../../support/code-point.ts'

const wellFormed = fc.string({ unit: codePoint, maxLength: 12 }).filter((part) => part.isWellFormed())
/** Parts that look like encoded text, and parts that are too long to be stored as they are. */
const nasty = fc.constantFrom('', '/', '%', '%2F', '.', '..', '~', '0', 'a/b', 'a', 'a%', '\0', 'é', 'e\u0301')
const long = fc.tuple(wellFormed, fc.integer({ min: 390, max: 410 })).map(([end, length]) => 'x'.repeat(length) + end)
const part = fc.oneof(wellFormed, nasty, long)
const parts = fc.array(part, { minLength: 1, maxLength: 4 })

describe('record keys', () => {
  it('have an owner as 128 bits of its keyed hash, whatever its length and case are', () => {
    const hash = (text: string): string => text.toUpperCase().padEnd(64, '0')
    assert.equal(hashOfOwner('acme', 'aDa', hash), 'OWNER\0ACME\0ADA'.padEnd(32, '0'))
  })

  it('are different for different tuples', () => {
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        const same = a.length === b.length && a.every((value, i) => value === b[i])
        assert.equal(key('xx', ...a) === key('xx', ...b), same)
      }),
      { numRuns: 2_000 },
    )
  })

  it('are different for every way to split a text into parts', () => {
    fc.assert(
      fc.property(part, fc.nat(), fc.nat(), (whole, i, j) => {
        const cut = (at: number): string => key('xx', whole.slice(0, at), whole.slice(at))
        const [a, b] = [i % (whole.length + 1), j % (whole.length + 1)]
        // A lone surrogate is not a valid part.
        fc.pre([a, b].every((at) => whole.slice(0, at).isWellFormed() && whole.slice(at).isWellFormed()))
        assert.equal(cut(a) === cut(b), a === b)
      }),
    )
  })

  it('are in exactly the ranges of their own prefixes', () => {
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

  it('are ordered by their numbers', () => {
    const size = fc.oneof(fc.maxSafeNat(), fc.nat(70_000))
    fc.assert(
      fc.property(size, size, (a, b) => {
        assert.equal(logKeys.batch(a) < logKeys.batch(b), a < b)
        // The first event is in the record of its evidence, which has another family.
        if (a !== 1 && b !== 1) assert.equal(keys.event('c', 'x', a) < keys.event('c', 'x', b), a < b)
        const { gte, lt } = logKeys.batchesFrom(a)
        assert.equal(logKeys.batch(b) >= gte && logKeys.batch(b) < lt, b >= a)
        const expired = keys.idempotencyExpired(a)
        const expiry = keys.idempotencyExpiry(b, 'id')
        assert.equal(expiry >= expired.gte && expiry < expired.lt, b < a)
      }),
    )
  })

  it('are valid keys of a store, also for the longest valid parts and for any other text', () => {
    const [astral, company] = ['\u{1F600}', 'C'.repeat(64)]
    const id = '01890000-0000-7000-8000-000000000000'
    const longest = [
      keys.externalId(company, astral.repeat(128)),
      keys.categoryName(company, id, astral.repeat(256)),
      keys.sourceSystemName(company, astral.repeat(256)),
      keys.idempotency(company, astral.repeat(128)),
      keys.evidenceIn(['sub', company, id], id),
      keys.externalId(company, astral.repeat(129)),
      keys.ownerIndex(company, astral.repeat(256), id),
      keys.category(company, astral.repeat(100_000)),
      keys.category(company, 'x'.repeat(100_000)),
      searchableKey('el', 'x'.repeat(100_000), id),
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

  it('of external ids are in the range of each beginning, however long they are, and of no other text', () => {
    const text = fc.string({ unit: codePoint, maxLength: 128 }).filter((each) => each.isWellFormed())
    const nastyText = fc.oneof(text, nasty, fc.constant('\u{1F600}'.repeat(128)), fc.constant('x'.repeat(128)))
    fc.assert(
      fc.property(nastyText, nastyText, fc.nat(), (a, b, at) => {
        const points = Array.from(a)
        for (const beginning of [points.slice(0, at % (points.length + 1)).join(''), b]) {
          const { gte, lt } = keys.externalIdsBeginningWith('acme', beginning)
          const each = keys.externalId('acme', a)
          assert.equal(each >= gte && each < lt, a.startsWith(beginning))
          assertKey(each)
        }
      }),
      { numRuns: 2_000 },
    )
  })

  it('are different for long names that differ only at the end', () => {
    const name = (end: string): string => 'é'.repeat(255) + end
    assert.notEqual(keys.categoryName('c', 'p', name('a')), keys.categoryName('c', 'p', name('b')))
  })

  it('carry the type of their record, and take no id of another kind', () => {
    // The compiler checks it: without the errors that are expected here, the tests do not compile.
    const misuse = (company: CompanyId, category: CategoryId): unknown => [
      // @ts-expect-error: the two ids are swapped.
      keys.category(category, company),
      // @ts-expect-error: a company's record has no name.
      putRecord(keys.company(company), { createdAt: 1, name: 'Acme' }),
      // @ts-expect-error: nor has it one when it is read.
      decodeRecord({ key: keys.company(company), value: new Uint8Array() }).name,
    ]
    assert.equal(typeof misuse, 'function')
  })

  /**
   * One key of each kind of record, with the name of the function that makes it. Any text is a valid part, also instead
   * of a number.
   */
  const oneOfEach = Object.entries<(...parts: never[]) => string | object>({ ...keys, ...logKeys })
    .map(([name, make]) => [name, make(...Array<never>(make.length).fill('x' as never))] as const)
    .filter((made): made is readonly [string, string] => typeof made[1] === 'string')

  it('have a different family for each kind of record', () => {
    assert.equal(Object.keys({ ...keys, ...logKeys }).length, Object.keys(keys).length + Object.keys(logKeys).length)
    assert.ok(oneOfEach.length > 35)
    const families = oneOfEach.map(([, each]) => each.split('/')[0])
    assert.equal(new Set(families).size, oneOfEach.length)
  })

  it('are in exactly one range of a family', () => {
    for (const [name, each] of oneOfEach) {
      const ranges = FAMILIES.filter(({ range: { gte, lt } }) => each >= gte && each < lt)
      // The marker of an unfinished copy is not a record of a complete registry.
      assert.equal(ranges.length, name === 'filling' ? 0 : 1, name)
    }
    assert.equal(FAMILIES.length, oneOfEach.length - 1)
  })
})
