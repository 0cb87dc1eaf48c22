import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { MAX_LINE_BYTES, parseLine } from '../../../server/commands/import-lines.ts'
import { linesOf } from '../../../server/commands/lines.ts'
import { codePoint } from '../../support/code-point.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const NAMES = { categoryName: 'Tools', subcategoryName: 'Drills' }
const VALID = { externalId: 'a', name: 'A', ...NAMES }

async function* chunksOf(content: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size)
}

async function linesIn(content: Uint8Array, size = 7): Promise<readonly string[]> {
  const lines: string[] = []
  for await (const group of linesOf(chunksOf(content, size), MAX_LINE_BYTES))
    lines.push(...group.map((line) => new TextDecoder().decode(line)))
  return lines
}

describe('the lines of a file', () => {
  it('are the same, whatever the chunks are', async () => {
    const line = fc.string({ unit: codePoint, maxLength: 20 }).filter((text) => !text.includes('\n'))
    await fc.assert(
      fc.asyncProperty(fc.array(line), fc.integer({ min: 1, max: 50 }), fc.boolean(), async (texts, size, hasEnd) => {
        const content = texts.join('\n') + (hasEnd && texts.length > 0 ? '\n' : '')
        // A last line that is empty is not a line.
        const expected = content === '' ? [] : content.replace(/\n$/, '').split('\n')
        assert.deepEqual(await linesIn(bytes(content), size), expected)
      }),
    )
  })

  it('end only at LF, not at U+2028', async () => {
    assert.deepEqual(await linesIn(bytes('"a\u2028b"\r\n"c"')), ['"a\u2028b"\r', '"c"'])
  })

  it('are left out beyond the maximum length, which shows before their end', async () => {
    const content = Buffer.concat([bytes('{}\n'), new Uint8Array(MAX_LINE_BYTES + 200_000).fill(0x20), bytes('\n[]')])
    let read = 0
    const chunks = async function* () {
      for await (const chunk of chunksOf(content, 65_536)) {
        read += chunk.length
        yield chunk
      }
    }
    const lengths: number[] = []
    for await (const group of linesOf(chunks(), MAX_LINE_BYTES)) {
      if (group.some((line) => line.length > MAX_LINE_BYTES)) assert.ok(read < content.length)
      lengths.push(...group.map((line) => line.length))
    }
    const [first, long = 0, ...others] = lengths
    assert.deepEqual([first, others], [2, [2]])
    assert.ok(long > MAX_LINE_BYTES && long <= MAX_LINE_BYTES + 65_536)
  })
})

describe('a line', () => {
  it('is the body of the endpoint for new evidences', () => {
    const line = { ...VALID, owner: 'Ada', description: 'd', summary: 's', meta: { a: [1.5, null] } }
    assert.deepEqual(parseLine(bytes(` ${JSON.stringify(line)}\r`)), {
      externalId: 'a',
      name: 'A',
      category: { name: 'Tools' },
      subcategory: { name: 'Drills' },
      owner: 'Ada',
      description: 'd',
      summary: 's',
      meta: { a: [1.5, null] },
    })
  })

  it('has the same values that are not given as that body: null and the empty text', () => {
    const id = '01A20128-C361-7164-966D-A0A6AA029C59'
    const line = { ...VALID, categoryId: id, owner: null, description: '', meta: { a: null } }
    assert.deepEqual(parseLine(bytes(JSON.stringify(line))), {
      externalId: 'a',
      name: 'A',
      category: { id: id.toLowerCase(), name: 'Tools' },
      subcategory: { name: 'Drills' },
      meta: { a: null },
    })
  })

  it('may be empty', () => {
    for (const text of ['', '\r', '  \t']) assert.equal(parseLine(bytes(text)), undefined)
  })

  const wrong: readonly (readonly [line: string | Uint8Array, problem: RegExp])[] = [
    ['{"externalId":"a"', /not JSON/],
    ['[]', /must be a JSON object/],
    ['null', /must be a JSON object/],
    [Uint8Array.of(0x22, 0xff, 0x22), /not UTF-8/],
    [JSON.stringify({ ...VALID, name: undefined }), /^name is required/],
    [JSON.stringify({ ...VALID, categoryName: 'a/b' }), /^categoryName must be/],
    [JSON.stringify({ ...VALID, subcategoryName: undefined }), /^subcategoryId or subcategoryName is required/],
    [JSON.stringify({ ...VALID, colour: 'grey' }), /^"colour" is not a known field/],
    [JSON.stringify({ ...VALID, category: { name: 'Tools' } }), /^"category" is not a known field/],
    [`{"externalId":"a","externalId":"b","name":"A"}`, /occurs twice/],
  ]
  for (const [line, problem] of wrong)
    it(`is refused: ${String(line).slice(0, 60)}`, () => {
      assert.throws(() => parseLine(typeof line === 'string' ? bytes(line) : line), {
        code: 'VALIDATION_ERROR',
        message: problem,
      })
    })
})
