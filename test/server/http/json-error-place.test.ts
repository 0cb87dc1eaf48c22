import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { jsonErrorPlace } from '../../../server/http/json-error-place.ts'

const errorOf = (text: string): SyntaxError | undefined => {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return error as SyntaxError
  }
}

describe('the place of an error in JSON', () => {
  const cases: readonly (readonly [text: string, place: string])[] = [
    ['', 'column 1'],
    ['{"a":1,x', 'column 8'],
    ['{"a":1', 'column 7'],
    ['{"a" 1}', 'column 6'],
    ['[1,]', 'column 4'],
    ['{"a":01}', 'column 7'],
    ['{"a":truth}', 'column 6'],
    ['{"a":"x\u0001"}', 'column 8'],
    [String.raw`{"a":"x\y"}`, 'column 8'],
    ['{} {}', 'column 4'],
    ['\n', 'line 2, column 1'],
    ['{\n  "a": 1\n  "b": 2\n}', 'line 3, column 3'],
    ['{"a": 1 "b": 2\n}', 'line 1, column 9'],
  ]
  for (const [text, place] of cases)
    it(`${JSON.stringify(text)}: ${place}`, () => {
      assert.ok(errorOf(text))
      assert.equal(jsonErrorPlace(text), place)
    })

  it('is the one that V8 names, if it names one', () => {
    const change = fc.record({
      at: fc.nat(),
      removed: fc.nat(2),
      added: fc.constantFrom('', '{', '}', '[', ']', ',', ':', '"', '1', 'x', ' '),
    })
    let compared = 0
    fc.assert(
      fc.property(fc.json(), change, (json, { at, removed, added }) => {
        const from = at % (json.length + 1)
        const text = json.slice(0, from) + added + json.slice(from + removed)
        const position = /at position (\d+)/.exec(errorOf(text)?.message ?? '')?.[1]
        // Inside a number, a literal or an escape V8 names the character, and we its beginning or the character.
        if (position === undefined || /[-+.\w\\]$/.test(text.slice(0, Number(position)))) return
        compared++
        assert.equal(jsonErrorPlace(text), `column ${Number(position) + 1}`, text)
      }),
      { numRuns: 3_000 },
    )
    assert.ok(compared > 300, String(compared))
  })

  it('is found in long texts', () => {
    assert.equal(jsonErrorPlace(`["${'x'.repeat(4_000_000)}"`), 'column 4000004')
  })
})
