import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { TSchema } from 'typebox'
import { isRegistryError, type RegistryError } from '../../../core/errors.ts'
import { assertNewEvidence } from '../../../core/registry/evidence/create.ts'
import { NewCategory, CategoryChange } from '../../../core/schemas/category-inputs.ts'
import { NewSourceSystem } from '../../../core/schemas/company-inputs.ts'
import { EvidenceChange, EvidenceQuery, NewEvidence, NewEvidences } from '../../../core/schemas/evidence-inputs.ts'
import { closed, CompanyId, ExternalId } from '../../../core/schemas/fields.ts'
import { MerkleValidationRequest } from '../../../core/schemas/proof-inputs.ts'
import { metaText, validate } from '../../../core/schemas/validation.ts'

const errorOf = (schema: TSchema, value: unknown, name?: string): RegistryError => {
  try {
    validate(schema, value, name)
  } catch (error) {
    assert.ok(isRegistryError(error, 'VALIDATION_ERROR'))
    return error
  }
  return assert.fail('Nothing was thrown')
}
const messageOf = (schema: TSchema, value: unknown): string => errorOf(schema, value).message

const evidence = { externalId: 'x', name: 'n', category: { name: 'c' }, subcategory: { name: 's' } }
const HASH = 'a'.repeat(64)

describe('validation', () => {
  it('of a new evidence includes its meta', () => {
    const tooLarge = { ...evidence, meta: { text: 'm'.repeat(70_000) } }
    assert.throws(() => assertNewEvidence(tooLarge), { code: 'VALIDATION_ERROR', field: 'meta' })
  })

  it('of a new evidence requires its subcategory, by its id or by both names', () => {
    assert.doesNotThrow(() => assertNewEvidence(evidence))
    for (const [given, field] of [
      [{ subcategory: {} }, 'subcategory'],
      [{ category: {} }, 'category'],
    ] as const)
      assert.throws(() => assertNewEvidence({ ...evidence, ...given }), { code: 'VALIDATION_ERROR', field })
  })

  const cases: readonly [string, TSchema, unknown, RegExp][] = [
    ['a missing field', NewCategory, {}, /^name is required and must be a string of 1 to 256 characters/],
    ['an unknown field', NewCategory, { name: 'a', nmae: 'b' },
      /^nmae is not a known field; known are name, description, image$/],
    ['a wrong type', NewCategory, { name: 1 }, /^name must be a string of 1 to 256 characters .*, not a number$/],
    ['null', NewEvidence, { ...evidence, owner: null }, /^owner must be a string of at most 256 .*, not null$/],
    ['too long a text', NewEvidence, { ...evidence, name: 'n'.repeat(257) },
      /^name must be a string of 1 to 256/],
    ['too long an owner', NewEvidence, { ...evidence, owner: 'n'.repeat(257) }, /^owner must be/],
    ['too long a description', NewEvidence, { ...evidence, description: 'n'.repeat(8_193) }, /^description must be/],
    ['too long a summary', EvidenceChange, { summary: 'n'.repeat(8_193) }, /^summary must be/],
    ['too long a category', NewCategory, { name: 'n'.repeat(257) }, /^name must be/],
    ['DEL in a text', EvidenceChange, { summary: 'a\u007fb' }, /^summary must be/],
    ['an empty name', NewEvidence, { ...evidence, name: '' }, /^name must be a string of 1 to 256/],
    ['a name of white space', NewEvidence, { ...evidence, name: ' \u3000' }, /^name must .*\(not only white space\)$/],
    ['a category of white space', NewCategory, { name: '\u00a0' }, /^name must .*\(not only white space\)$/],
    ['a source system of white space', NewSourceSystem, { name: '\ufeff ' }, /^name must .*\(not only white space\)$/],
    ['an owner of white space', EvidenceChange, { owner: '\u2028' }, /^owner must .*\(not only white space\)$/],
    ['a persona of white space', EvidenceChange, { persona: ' ' }, /^persona must .*\(not only white space\)$/],
    ['a control character', NewEvidence, { ...evidence, owner: 'a\u0007' }, /^owner must be .*without control/],
    ['a C1 control character', NewEvidence, { ...evidence, name: 'a\u0085' }, /^name must be .*without control/],
    ['a line feed in a line', EvidenceChange, { persona: 'a\nb' }, /^persona must be/],
    ['a NUL in a text', EvidenceChange, { description: '\0' }, /^description must be .*tab, LF and CR/],
    ['a lone surrogate', EvidenceChange, { description: '\ud800' }, /^description must be/],
    ['a slash in a category', NewCategory, { name: 'a/b' }, /^name must be .*without \//],
    ['a slash in a category by name', NewEvidence, { ...evidence, category: { name: 'a/b' } },
      /^category\.name must be .*without \//],
    ['an unknown word', CategoryChange, { status: 'removed' }, /^status must be one of active, inactive$/],
    ['an unknown level', NewSourceSystem, { name: 'a', permissions: 'X' },
      /^permissions must be one of I, U, R, A$/],
    ['a short key', NewSourceSystem, { name: 'a', apiKey: 'short' }, /^apiKey must be a string of 16/],
    ['a number out of range', EvidenceQuery, { limit: 1_001 }, /^limit must be an integer of 1 to 1000$/],
    ['an object instead of a text', ExternalId, {}, /^The input must be a string .*, not an object$/],
    ['an array as meta', NewEvidence, { ...evidence, meta: [] }, /^meta must be a JSON object .*, not an array$/],
    ['a bad hash deep inside', MerkleValidationRequest,
      { txId: HASH, merkleRoot: HASH, proof: [{ hash: 'x' }] }, /^proof\[0\]\.hash must be 64 hex digits/],
    ['an unknown field deep inside', NewEvidence,
      { ...evidence, category: { side: 1 } }, /^category\.side is not a known field; known are id, name$/],
    ['no object at all', NewCategory, 'x', /^The input /],
  ] // prettier-ignore
  for (const [what, schema, value, message] of cases)
    it(`names the field and what it must be: ${what}`, () => {
      assert.match(messageOf(schema, value), message)
    })

  it('sets the field of the error', () => {
    const evidences = { categoryId: 'c', subcategoryId: 's', evidences: [{ externalId: 'x', name: 7 }] }
    assert.equal(errorOf(NewEvidences, evidences).field, 'evidences[0].name')
    assert.equal(errorOf(NewCategory, { name: 'a', 'x/~y': 1 }).field, 'x/~y')
    assert.equal(errorOf(NewCategory, {}).field, 'name')
    assert.equal(errorOf(NewCategory, 'x').field, undefined)
    const error = errorOf(ExternalId, '.', 'externalId')
    assert.deepEqual([error.field, error.message.startsWith('externalId must be')], ['externalId', true])
  })

  it('shortens the name of an unknown field to 128 characters', () => {
    assert.ok(messageOf(NewCategory, { name: 'a', ['x'.repeat(100_000)]: 1 }).length < 200)
  })

  it('does not accept __proto__ or an inherited name as a field', () => {
    assert.match(messageOf(NewCategory, JSON.parse('{"name":"a","__proto__":{}}')), /__proto__ is not a known field/)
    assert.match(messageOf(NewCategory, { name: 'a', constructor: 1 }), /constructor is not a known field/)
    assert.match(messageOf(closed({}), { toString: 1 }), /toString is not a known field/)
  })

  it('counts code points', () => {
    assert.equal(validate(ExternalId, '😀'.repeat(128)), '😀'.repeat(128))
    validate(NewEvidence, { ...evidence, name: '😀'.repeat(256), description: '😀'.repeat(8_192) })
    messageOf(ExternalId, '😀'.repeat(129))
    messageOf(ExternalId, 'a'.repeat(129))
  })

  it('accepts any well-formed text as an external id, except . and ..', () => {
    for (const id of ['a/b', '%2F', ' ', '...', '.a', '\u2028', 'ü', '../x', '__proto__'])
      assert.equal(validate(ExternalId, id), id)
    for (const id of ['', '.', '..', 'a\0', 'a\n', '\u007f', '\udc00', 7]) messageOf(ExternalId, id)
  })

  it('accepts tab, LF and CR in texts', () => {
    validate(EvidenceChange, { description: 'a\tb\r\nc' })
  })

  it('accepts company ids of 1 to 64 letters, digits, dots, underscores and hyphens', () => {
    for (const id of ['a', 'A-1_b.c', '...', 'x'.repeat(64)]) assert.equal(validate(CompanyId, id), id)
    for (const id of ['', '.', '..', 'x'.repeat(65), 'a b', 'a/b', 'é', 'a\n']) messageOf(CompanyId, id)
  })
})

describe('metaText', () => {
  const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) })

  it('accepts 32 levels and 64 KiB of canonical JSON, and no more', () => {
    metaText(nested(32))
    assert.throws(() => metaText(nested(33)), { code: 'VALIDATION_ERROR', message: /^meta: / })
    const overhead = '{"a":""}'.length
    assert.equal(metaText({ a: 'x'.repeat(65_536 - overhead) }).length, 65_536)
    assert.throws(() => metaText({ a: 'x'.repeat(65_537 - overhead) }), {
      code: 'VALIDATION_ERROR',
      message: /^meta must have at most 64 KiB/,
    })
    // The limit is in bytes, not in characters.
    assert.throws(() => metaText({ a: 'é'.repeat(40_000) }), { code: 'VALIDATION_ERROR' })
  })

  it('says why canonical JSON cannot hold a meta', () => {
    assert.throws(() => metaText({ a: -0 }), { code: 'VALIDATION_ERROR', message: /^meta: -0/ })
  })
})
