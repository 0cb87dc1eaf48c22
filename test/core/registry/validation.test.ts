import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { TSchema } from 'typebox'
import {
  CategoryChange,
  closed,
  CompanyId,
  EvidenceInput,
  EvidenceListQuery,
  EvidenceUpdate,
  ExternalId,
  MerkleValidationRequest,
  NewCategory,
  NewEvidence,
  NewSourceSystem,
} from '../../../core/registry/schemas.ts'
import { metaText, validate } from '../../../core/registry/validation.ts'

const messageOf = (schema: TSchema, value: unknown): string => {
  let message = ''
  assert.throws(
    () => validate(schema, value),
    (error: Error & { code?: string }) => {
      message = error.message
      return error.code === 'VALIDATION_ERROR'
    },
  )
  return message
}
const evidence = { externalId: 'x', name: 'n' }

describe('validation', () => {
  const cases: readonly [string, TSchema, unknown, RegExp][] = [
    ['a missing field', NewCategory, {}, /^name is required$/],
    ['an unknown field', NewCategory, { name: 'a', nmae: 'b' }, /^nmae is not a known field$/],
    ['a wrong type', NewCategory, { name: 1 }, /^name takes: 1 to 256 characters/],
    ['null', EvidenceInput, { ...evidence, owner: null }, /^owner takes: At most 256/],
    ['too long a text', EvidenceInput, { ...evidence, name: 'n'.repeat(257) }, /^name takes: 1 to 256/],
    ['an empty name', EvidenceInput, { ...evidence, name: '' }, /^name takes: 1 to 256/],
    ['a control character', EvidenceInput, { ...evidence, owner: 'a\u0007' }, /^owner takes: .*no control/],
    ['a C1 control character', EvidenceInput, { ...evidence, name: 'a\u0085' }, /^name takes: .*no control/],
    ['a line feed in a line', EvidenceUpdate, { updateActionPersona: 'a\nb' }, /^updateActionPersona takes/],
    ['a NUL in a text', EvidenceUpdate, { description: '\0' }, /^description takes: .*tab, LF and CR/],
    ['a lone surrogate', EvidenceUpdate, { description: '\ud800' }, /^description takes/],
    ['a slash in a category', NewCategory, { name: 'a/b' }, /^name takes: .*no \//],
    ['a slash in a category by name', NewEvidence, { ...evidence, categoryName: 'a/b' }, /^categoryName takes: .*no \//],
    ['an unknown word', CategoryChange, { action: 'DELETE' }, /^action takes one of CHANGE, ACTIVATE, DEACTIVATE, REMOVE$/],
    ['an unknown level', NewSourceSystem, { name: 'a', permissions: 'X' }, /^permissions takes one of I, U, R, A$/],
    ['a short key', NewSourceSystem, { name: 'a', apiKey: 'short' }, /^apiKey takes: Your own key: 16/],
    ['a number out of range', EvidenceListQuery, { len: 1_001 }, /^len .*1000/],
    ['an object where a text belongs', ExternalId, {}, /^The input takes: Any text/],
    ['an array as meta', EvidenceInput, { ...evidence, meta: [] }, /^meta takes: A JSON object/],
    ['a bad hash deep inside', MerkleValidationRequest,
      { txId: 'a'.repeat(64), merkleRoot: 'a'.repeat(64), proof: [{ hash: 'x' }] }, /^proof\.0\.hash takes: SHA-256/],
    ['an unknown field deep inside', MerkleValidationRequest,
      { txId: 'a'.repeat(64), merkleRoot: 'a'.repeat(64), proof: [{ hash: 'a'.repeat(64), side: 1 }] },
      /^proof\.0\.side is not a known field$/],
    ['no object at all', NewCategory, 'x', /^The input /],
  ] // prettier-ignore
  for (const [what, schema, value, message] of cases)
    it(`names the field and what it takes: ${what}`, () => {
      assert.match(messageOf(schema, value), message)
    })

  it('shows no more of an unknown field than 128 characters', () => {
    assert.ok(messageOf(NewCategory, { name: 'a', ['x'.repeat(100_000)]: 1 }).length < 200)
  })

  it('does not take __proto__ or an inherited name for a field', () => {
    assert.match(messageOf(NewCategory, JSON.parse('{"name":"a","__proto__":{}}')), /__proto__ is not a known field/)
    assert.match(messageOf(NewCategory, { name: 'a', constructor: 1 }), /constructor is not a known field/)
    assert.match(messageOf(closed({}), { toString: 1 }), /toString is not a known field/)
  })

  it('counts code points', () => {
    assert.equal(validate(ExternalId, '😀'.repeat(128)), '😀'.repeat(128))
    messageOf(ExternalId, '😀'.repeat(129))
    messageOf(ExternalId, 'a'.repeat(129))
  })

  it('takes any well-formed text as an external id but . and ..', () => {
    for (const id of ['a/b', '%2F', ' ', '...', '.a', '\u2028', 'ü', '../x', '__proto__'])
      assert.equal(validate(ExternalId, id), id)
    for (const id of ['', '.', '..', 'a\0', 'a\n', '\u007f', '\udc00', 7]) messageOf(ExternalId, id)
  })

  it('takes tab, LF and CR in texts', () => {
    validate(EvidenceUpdate, { description: 'a\tb\r\nc' })
  })

  it('takes company ids of 1 to 64 letters, digits, dots, underscores and hyphens', () => {
    for (const id of ['a', 'A-1_b.c', '...', 'x'.repeat(64)]) assert.equal(validate(CompanyId, id), id)
    for (const id of ['', '.', '..', 'x'.repeat(65), 'a b', 'a/b', 'é', 'a\n']) messageOf(CompanyId, id)
  })
})

describe('metaText', () => {
  const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) })

  it('takes 32 levels and 64 KiB of canonical JSON, and not one more', () => {
    metaText(nested(32))
    assert.throws(() => metaText(nested(33)), { code: 'VALIDATION_ERROR', message: /^meta: / })
    const overhead = '{"a":""}'.length
    assert.equal(metaText({ a: 'x'.repeat(65_536 - overhead) }).length, 65_536)
    assert.throws(() => metaText({ a: 'x'.repeat(65_537 - overhead) }), {
      code: 'VALIDATION_ERROR',
      message: /^meta takes at most 64 KiB/,
    })
    // Counted in bytes.
    assert.throws(() => metaText({ a: 'é'.repeat(40_000) }), { code: 'VALIDATION_ERROR' })
  })

  it('says why a meta does not survive', () => {
    assert.throws(() => metaText({ a: 2 ** 53 }), { code: 'VALIDATION_ERROR', message: /^meta: .*safe/ })
    assert.throws(() => metaText({ a: -0 }), { code: 'VALIDATION_ERROR', message: /^meta: -0/ })
  })
})
