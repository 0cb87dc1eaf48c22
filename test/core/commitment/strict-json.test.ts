import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { canonicalJson, MAX_DEPTH, type Json } from '../../../core/commitment/canonical-json.ts'
import { parseStrictJson } from '../../../core/commitment/strict-json.ts'
import { isRegistryError, type ErrorCode } from '../../../core/errors.ts'
import { json } from '../../support/json-values.ts'
import { referenceStrictJson } from '../../support/strict-json-reference.ts'

const registryError = (code: ErrorCode) => ({ name: 'RegistryError', code })

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
    ['the digits of 1e16', '10000000000000000', 'VALIDATION_ERROR'],
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

  const places: readonly [string, string][] = [
    ['{"evidences":[{"meta":{"t":[1,12345678901234567890]}}]}', 'evidences[0].meta.t[1]: An integer'],
    ['[0,[{"a":{"b":-0}}]]', '[1][0].a.b: -0'],
    ['{"a":[true,{"x,]":"\\ud800"}]}', 'a[1].x,]: A text contains a lone surrogate'],
    ['{"a":{"b":1},"c":{"b":1,"d":[],"b":2}}', 'c.b: The key occurs twice'],
    ['[{"a":{"__proto__":1}}]', '[0].a.__proto__: The key __proto__'],
    ['1e400', 'A number is too large'],
  ]
  it('does not look for the place if it is not asked for', () => {
    for (const text of ['{"a":1,"a":2}', '[1e400]', '[12345678901234567890]'])
      assert.throws(() => parseStrictJson(text, { namesPlace: false }), {
        message: /^(?:The key|A|An) /,
      })
  })
  for (const [text, message] of places)
    it(`says where ${text} is wrong`, () => {
      assert.throws(
        () => parseStrictJson(text),
        (error) => error instanceof Error && error.message.startsWith(message),
      )
    })

  it('accepts long integers of canonical JSON, if the reader says so', () => {
    const limits = { acceptsCanonicalIntegers: true }
    assert.deepEqual(parseStrictJson(canonicalJson([1e16, -(2 ** 60)]), limits), [1e16, -(2 ** 60)])
    assert.throws(() => parseStrictJson('9007199254740993', limits), registryError('VALIDATION_ERROR'))
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
    ['[1e16,6.02e23,1.0E+16,-1e300]', [1e16, 6.02e23, 1e16, -1e300]],
    ['1e-7', 1e-7],
    // What printers with 17 digits write.
    ['[52.520006599999995,0.10000000000000001]', [52.520006599999995, 0.1]],
    ['0.1000000000000000000000', 0.1],
    // Halfway between two decimals of 17 digits.
    ['[2248087358292.9062,2248087358292.90620]', [2248087358292.90625, 2248087358292.90625]],
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

  it('counts values, and not names, before it parses them', () => {
    const countOf = (value: Json): number =>
      1 +
      (typeof value === 'object' && value !== null ? Object.values(value).map(countOf) : []).reduce((a, b) => a + b, 0)
    fc.assert(
      fc.property(json, fc.constantFrom('', '\t '), (value, space) => {
        const written = JSON.stringify(value, null, space)
        const maxValues = countOf(value)
        assert.deepEqual(parseStrictJson(written, { maxValues }), JSON.parse(written))
        assert.throws(() => parseStrictJson(written, { maxValues: maxValues - 1 }), registryError('PAYLOAD_TOO_LARGE'))
      }),
    )
    assert.throws(() => parseStrictJson('[true,null', { maxValues: 2 }), registryError('PAYLOAD_TOO_LARGE'))
  })

  it('does not take quadratic time', () => {
    // A quadratic algorithm took 2 s for 80,000 zeros. For these texts it takes longer than a test file may run.
    for (const from of [`1.${'0'.repeat(1_000_000)}1`, `[${'"a",'.repeat(1_000_000)}-0]`])
      assert.throws(() => parseStrictJson(from), registryError('VALIDATION_ERROR'))
  })

  it('decides like a slow reference, for texts that were changed at random', () => {
    const spacing = fc.constantFrom('', ' ', '\n', '\t ')
    const written = fc.tuple(json, spacing).map(([value, space]) => JSON.stringify(value, null, space))
    const change = fc.record({
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      removed: fc.nat(3),
      inserted: fc.constantFrom(
        '',
        ...Array.from('{}[]:,"\\-0.eE19 '),
        '\\u0061',
        '\\ud800',
        '"a":1,',
        '"__proto__":1,',
        '00000000000000000',
      ),
    })
    fc.assert(
      fc.property(written, fc.array(change, { maxLength: 3 }), (text, changes) => {
        let changed = text
        for (const { at, removed, inserted } of changes) {
          const start = Math.floor(at * changed.length)
          changed = changed.slice(0, start) + inserted + changed.slice(start + removed)
        }
        assert.deepEqual(outcomeOf(parseStrictJson, changed), outcomeOf(referenceStrictJson, changed), changed)
      }),
      { numRuns: 3_000 },
    )
  })
})

/** The value, or the code of the error. */
function outcomeOf(parse: (text: string) => Json, text: string): unknown {
  try {
    return { value: parse(text) }
  } catch (error) {
    assert.ok(isRegistryError(error, 'VALIDATION_ERROR'), String(error))
    return 'rejected'
  }
}
