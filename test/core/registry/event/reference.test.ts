import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { CategoryId, CompanyId, EvidenceId, FileId } from '../../../../core/api/scope.ts'
import { toHex } from '../../../../core/bytes.ts'
import type { Json } from '../../../../core/commitment/canonical-json.ts'
import type { LogAppend } from '../../../../core/ports/index.ts'
import { appendEvents, type EventStep } from '../../../../core/registry/event/append.ts'
import { makeEvidence } from '../../../../core/registry/evidence/make.ts'
import type { EvidenceInput } from '../../../../core/schemas/evidence-inputs.ts'
import { decodeRecord } from '../../../../core/store/codec.ts'
import { withPosition } from '../../../../core/store/commit-plan.ts'
import { keys } from '../../../../core/store/keys.ts'
import type { EvidenceRecord } from '../../../../core/store/records.ts'
import { referenceEvent, referenceEvidence } from '../../../support/event-reference.ts'
import { json } from '../../../support/json-values.ts'

const ID = '0192f1a0-7c3e-7abc-8def-0123456789ab' as EvidenceId
const COMPANY = 'acme' as CompanyId
const ORIGIN = `log.example/demo/${'0f'.repeat(16)}`

const secret = fc.uint8Array({ minLength: 32, maxLength: 32 })
/** Also longer than the buffers that are reused. */
const text = fc.oneof(
  { weight: 40, arbitrary: fc.string({ minLength: 1, maxLength: 20 }) },
  { weight: 8, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }) },
  fc.tuple(fc.constantFrom('a', 'é', '水', '💡', '"', '\n'), fc.integer({ min: 1, max: 8_192 })).map(([unit, count]) =>
    unit
      .repeat(count)
      .slice(0, 8_192 - (count % 2))
      .toWellFormed(),
  ),
)
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
const meta = fc.dictionary(
  fc.string({ maxLength: 8 }).filter((name) => name !== '__proto__'),
  json,
  { maxKeys: 3 },
)

const staged = fc
  .record({ id: fc.uuid().map((id) => id as FileId), name: text, mimeType: fc.constantFrom('image/png', 'a/b') })
  .map((file) => ({ ...file, title: 'T', size: 12, sha256: 'ab'.repeat(32) }))

const creates = fc.record({
  input: fc.record(
    {
      externalId: text,
      name: text,
      owner: fc.oneof(fc.constant(''), text),
      description: text,
      summary: text,
      meta,
    },
    { requiredKeys: ['externalId', 'name'] },
  ) satisfies fc.Arbitrary<EvidenceInput>,
  files: fc.uniqueArray(staged, { maxLength: 3, selector: ({ id }) => id }),
  hasImage: fc.boolean(),
  actor: text,
  secrets: fc.record({ slotKey: secret, seed: secret }),
})

const steps = fc.record({
  kind: fc.constantFrom<Pick<EventStep, 'type' | 'updateType'>>(
    { type: 'transfer' },
    { type: 'update', updateType: 'change' },
    { type: 'update', updateType: 'addfile' },
    { type: 'update', updateType: 'deletefile' },
  ),
  fields: fc.dictionary(
    fc.constantFrom('name', 'owner', 'meta', 'personaName', 'z', 'ü', '10', '9'),
    fc.oneof<fc.Arbitrary<Json>[]>(text, json),
    { maxKeys: 4 },
  ),
  attached: fc.uniqueArray(staged, { maxLength: 2, selector: ({ id }) => id }),
  deleted: optional(fc.uuid()),
  seed: secret,
  later: fc.nat(1_000_000),
})

const bytesOf = ({ entry, payload }: LogAppend) => ({ entry: toHex(entry), payload: toHex(payload) })

describe('the maker of events', () => {
  it('makes the bytes of the one that it replaced', () =>
    fc.assert(
      fc.property(creates, steps, ({ input, files, hasImage, actor, secrets }, step) => {
        const target = {
          origin: ORIGIN,
          hash: String,
          actor,
          companyId: COMPANY,
          categoryId: 'c-1' as CategoryId,
          subcategoryId: 's-1' as CategoryId,
          files: { image: hasImage ? files[0] : undefined, files },
        }
        const { writes, append } = makeEvidence(target, { id: ID, input }, secrets)
        const expected = referenceEvidence(target, { id: ID, input }, secrets)
        assert.deepEqual(bytesOf(append), expected.append)
        const key = keys.evidence(COMPANY, ID)
        const value = writes.find((write) => write.key === key)?.value ?? assert.fail('there is no record')
        assert.equal(Buffer.from(value).toString('utf8'), expected.record)
        assertAppended(decodeRecord<EvidenceRecord>({ key, value: withPosition(value, 1) }), secrets.slotKey, step)
      }),
      { numRuns: 10_000 },
    ))
})

type Step = typeof steps extends fc.Arbitrary<infer T> ? T : never

/** Appends a later event to the evidence. */
function assertAppended(before: EvidenceRecord, slotKey: Uint8Array, step: Step): void {
  const { kind, fields, attached, deleted, seed, later } = step
  const files = Object.fromEntries([
    ...attached.map(({ id, name, mimeType, sha256, size }) => [id, { id, mimeType, name, sha256, size }] as const),
    ...(deleted === undefined ? [] : [[deleted, { id: deleted, deleted: before.txId }] as const]),
  ])
  const now = before.createdAt + later
  const author = { origin: ORIGIN, hash: String, actor: 'a-2', attempt: { now, conflicts: [] } }
  const { append } = appendEvents(author, before, [{ ...kind, fields, files, state: before, seed }])
  const { id, externalId, txId } = before
  const draft = {
    ...kind,
    company: COMPANY,
    evidenceId: id,
    version: 2,
    time: now,
    first: txId,
    prev: txId,
    fields: { action: kind, actor: 'a-2', company: COMPANY, evidence: id, externalId, ...fields },
    files,
  }
  assert.deepEqual(append.map(bytesOf), [referenceEvent(draft, ORIGIN, { slotKey, seed })])
}
