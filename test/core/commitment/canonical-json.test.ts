import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import canonicalizeModule from 'canonicalize'
import fc from 'fast-check'
import { canonicalJson, MAX_DEPTH, parseStrictJson, type Json } from '../../../core/commitment/canonical-json.ts'
import { isRegistryError, type ErrorCode } from '../../../core/errors.ts'

const registryError = (code: ErrorCode) => ({ name: 'RegistryError', code })
const isNegativeZero = (value: unknown): boolean => Object.is(value, -0)

/** Every JSON value that is accepted: safe integers, doubles, well-formed texts, no `__proto__`. */
const text = fc.string({ unit: 'binary' }).filter((value) => value.isWellFormed())
const number = fc
  .double({ noNaN: true, noDefaultInfinity: true })
  .filter((value) => !isNegativeZero(value) && (!Number.isInteger(value) || Number.isSafeInteger(value)))
const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<Json>(null, true, false),
    fc.maxSafeInteger(),
    number,
    text,
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(
      fc.oneof(text, fc.nat(1_000).map(String)).filter((name) => name !== '__proto__'),
      tie('json'),
      { maxKeys: 5 },
    ),
  ),
}))

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
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,100000,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
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
    ['an integer beyond 2^53 - 1', 2 ** 53],
    ['a negative integer beyond 2^53 - 1', -(2 ** 53)],
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

describe('parseStrictJson', () => {
  const refusals: readonly [string, string, 'VALIDATION_ERROR' | 'NOT_JSON'][] = [
    ['a lone surrogate in a value', String.raw`["\ud800"]`, 'VALIDATION_ERROR'],
    ['a lone surrogate in a key', String.raw`{"\udfff":1}`, 'VALIDATION_ERROR'],
    ['a raw lone surrogate', '["\ud800"]', 'VALIDATION_ERROR'],
    ['-0', '{"a":-0}', 'VALIDATION_ERROR'],
    ['-0.0', '-0.0', 'VALIDATION_ERROR'],
    ['-0e7', '[-0e7]', 'VALIDATION_ERROR'],
    ['1e400', '1e400', 'VALIDATION_ERROR'],
    ['1e-400', '1e-400', 'VALIDATION_ERROR'],
    ['-1e-400', '-1e-400', 'VALIDATION_ERROR'],
    ['2^53', '9007199254740992', 'VALIDATION_ERROR'],
    ['2^53 + 1', '[9007199254740993]', 'VALIDATION_ERROR'],
    ['an unsafe integer with an exponent', '1e16', 'VALIDATION_ERROR'],
    ['an unsafe integer with a fraction', '9007199254740993.0', 'VALIDATION_ERROR'],
    ['a decimal that does not round-trip', '0.1234567890123456789', 'VALIDATION_ERROR'],
    ['a decimal of 18 digits', '52.5200065999999981', 'VALIDATION_ERROR'],
    ['a decimal that no printer writes', '52.520006599999997', 'VALIDATION_ERROR'],
    ['a decimal one digit too long', '{"a":333333333.33333329}', 'VALIDATION_ERROR'],
    ['a duplicate key', '{"a":1,"a":1}', 'VALIDATION_ERROR'],
    ['a duplicate key by an escape', String.raw`{"a":1,"\u0061":2}`, 'VALIDATION_ERROR'],
    ['a duplicate key deep inside', '[{"b":{"x":[],"y":{},"x":0}}]', 'VALIDATION_ERROR'],
    ['the key __proto__', '{"__proto__":{}}', 'VALIDATION_ERROR'],
    ['the key __proto__ by an escape', String.raw`{"a":{"\u005f_proto__":1}}`, 'VALIDATION_ERROR'],
    ['trailing garbage', '{} x', 'NOT_JSON'],
    ['two values', '1 2', 'NOT_JSON'],
    ['a byte order mark', '\ufeff{}', 'NOT_JSON'],
    ['nothing', '', 'NOT_JSON'],
    ['a trailing comma', '[1,]', 'NOT_JSON'],
    ['a text that is not closed', '"abc', 'NOT_JSON'],
    ['NaN', 'NaN', 'NOT_JSON'],
    ['a leading zero', '01', 'NOT_JSON'],
    ['a raw control character in a text', '"\u0001"', 'NOT_JSON'],
    ['brackets that do not match', '[}', 'NOT_JSON'],
  ]
  for (const [what, from, reason] of refusals)
    it(`rejects ${what}`, () => {
      assert.throws(
        () => parseStrictJson(from),
        (error) => {
          assert.ok(isRegistryError(error, 'VALIDATION_ERROR'))
          // The cause tells a text that is not JSON from JSON that canonical JSON cannot represent.
          assert.equal(error.cause instanceof SyntaxError, reason === 'NOT_JSON')
          return true
        },
      )
    })

  const accepted: readonly [string, Json][] = [
    ['{"a":{"a":1},"b":[{"a":2},{"a":3}]}', { a: { a: 1 }, b: [{ a: 2 }, { a: 3 }] }],
    ['[{"a":1},{"a":1}]', [{ a: 1 }, { a: 1 }]],
    ['{"a":"a","b":"a"}', { a: 'a', b: 'a' }],
    ['{"a":[",",{"x":"{"}],"b":"\\"b\\""}', { a: [',', { x: '{' }], b: '"b"' }],
    ['9007199254740991', 2 ** 53 - 1],
    ['-9007199254740991', 1 - 2 ** 53],
    ['[0,0.0,0e5,1.50,1E2,1e+2,100e-2]', [0, 0, 0, 1.5, 100, 100, 1]],
    ['5e-324', 5e-324],
    ['1e-7', 1e-7],
    ['"\\ud83d\\ude00"', '😀'],
    [' \n\t"x" ', 'x'],
    ['{"constructor":1,"toString":2,"hasOwnProperty":3}', { constructor: 1, toString: 2, hasOwnProperty: 3 }],
  ]
  for (const [from, value] of accepted)
    it(`accepts ${from}`, () => {
      assert.deepEqual(parseStrictJson(from), value)
    })

  it('equals JSON.parse for every accepted value', () => {
    fc.assert(
      fc.property(json, (value) => {
        const written = JSON.stringify(value)
        assert.deepEqual(parseStrictJson(written), JSON.parse(written))
      }),
    )
  })

  it('accepts nesting up to the limit, and rejects 50,000 levels without overflowing the stack', () => {
    const arrays = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
    const objects = (depth: number): string => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth)
    for (const nested of [arrays, objects]) {
      parseStrictJson(nested(MAX_DEPTH))
      assert.throws(() => parseStrictJson(nested(MAX_DEPTH + 1)), registryError('VALIDATION_ERROR'))
      assert.throws(() => parseStrictJson(nested(50_000)), registryError('VALIDATION_ERROR'))
    }
    assert.throws(() => parseStrictJson('['.repeat(50_000)), registryError('VALIDATION_ERROR'))
    assert.throws(() => parseStrictJson('[[]]', { maxDepth: 1 }), registryError('VALIDATION_ERROR'))
    // Brackets in a string are not nesting.
    assert.equal(parseStrictJson(JSON.stringify('['.repeat(1_000))), '['.repeat(1_000))
  })

  it('does not take quadratic time', () => {
    // A quadratic algorithm took 2 s for 80,000 zeros. For these texts it takes longer than a test file may run.
    for (const from of [`1.${'0'.repeat(1_000_000)}1`, `[${'"a",'.repeat(1_000_000)}-0]`])
      assert.throws(() => parseStrictJson(from), registryError('VALIDATION_ERROR'))
  })
})
