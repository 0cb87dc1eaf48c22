import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import canonicalizeModule from 'canonicalize'
import fc from 'fast-check'
import { canonicalJson, MAX_DEPTH, type Json } from '../../../core/commitment/canonical-json.ts'
import { parseStrictJson } from '../../../core/commitment/strict-json.ts'
import type { ErrorCode } from '../../../core/errors.ts'
import { json } from '../../support/json-values.ts'

const registryError = (code: ErrorCode) => ({ name: 'RegistryError', code })
/** The module is the function itself, but its types do not say so. It returns `undefined` only for `undefined`. */
const oracle = canonicalizeModule as unknown as (value: Json) => string

describe('canonicalJson', () => {
  it('agrees with the npm package canonicalize', () => {
    fc.assert(
      fc.property(json, (value) => {
        assert.equal(canonicalJson(value), oracle(value))
      }),
      { numRuns: 500 },
    )
  })

  it('writes one text for one value: parsing and writing it again changes nothing', () => {
    fc.assert(
      fc.property(json, (value) => {
        const canonical = canonicalJson(value)
        assert.equal(canonicalJson(parseStrictJson(canonical)), canonical)
        assert.equal(canonicalJson(parseStrictJson(JSON.stringify(value, null, 2))), canonical)
      }),
      { numRuns: 300 },
    )
  })

  it('writes the example of RFC 8785 § 3.2.2 as the RFC does', () => {
    // The example's 333333333.33333329 has one digit too many for a double. canonicalJson gets only the rounded number.
    const value = {
      numbers: [333333333.3333333, 1e30 / 1e25, 4.5, 2e-3, 0.000000000000000000000000001],
      string: '\u20ac$\u000F\u000aA\'\u0042\u0022\u005c\\"/',
      literals: [null, true, false],
    }
    assert.equal(
      canonicalJson(value),
      '{"literals":[null,true,false],"numbers":[333333333.3333333,100000,4.5,0.002,1e-27],' +
        String.raw`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    )
  })

  it('sorts keys by UTF-16 code unit, as RFC 8785 § 3.2.3', () => {
    const value = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    }
    const order = [...canonicalJson(value).matchAll(/:"([^"]*)"/g)].map(([, name]) => name)
    assert.deepEqual(order, [
      'Carriage Return',
      'One',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Emoji: Grinning Face',
      'Hebrew Letter Dalet With Dagesh',
    ])
  })

  it('sorts keys that look like integers as text', () => {
    assert.equal(canonicalJson({ 9: 0, 10: 0, 1: 0, a: 0, '01': 0 }), '{"01":0,"1":0,"10":0,"9":0,"a":0}')
  })

  const values: readonly [string, unknown][] = [
    ['a lone surrogate in a value', ['\ud800']],
    ['a lone surrogate in a key', { '\udc00': 1 }],
    ['-0', -0],
    ['NaN', { a: Number.NaN }],
    ['an infinity', Infinity],
    ['undefined', undefined],
    ['undefined in an object', { a: undefined }],
    ['a hole in an array', Array.from<unknown>({ length: 1 })],
    ['a function', () => 1],
    ['a symbol', Symbol('a')],
    ['a bigint', 1n],
    ['a date', new Date(0)],
    ['a map', new Map()],
    ['an object with a prototype of its own', Object.create({ a: 1 })],
    ['the key __proto__', JSON.parse('{"__proto__":1}')],
  ]
  for (const [what, value] of values)
    it(`rejects ${what}`, () => {
      assert.throws(() => canonicalJson(value), registryError('VALIDATION_ERROR'))
    })

  it('accepts nesting up to the limit', () => {
    const nested = (depth: number): unknown => {
      let value: unknown = 1
      for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { a: value }
      return value
    }
    assert.equal(parseStrictJson(canonicalJson(nested(MAX_DEPTH))) !== null, true)
    assert.throws(() => canonicalJson(nested(MAX_DEPTH + 1)), registryError('VALIDATION_ERROR'))
    assert.throws(() => canonicalJson(nested(50_000)), registryError('VALIDATION_ERROR'))
    assert.equal(canonicalJson([[]], { maxDepth: 2 }), '[[]]')
    assert.throws(() => canonicalJson([[]], { maxDepth: 1 }), registryError('VALIDATION_ERROR'))
  })
})
