import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { CategoryId, CompanyId, EvidenceId, FileId, TxId } from '../../../core/api/scope.ts'
import { firstEventOf, putEvidence, withFirstEvent, type EvidenceWithoutEvent } from '../../../core/store/evidence.ts'
import { decodeRecord, encodeRecord } from '../../../core/store/codec.ts'
import { withPosition } from '../../../core/store/commit-plan.ts'
import type { EventRecord, EvidenceRecord } from '../../../core/store/records.ts'

const text = fc.option(fc.constantFrom('a', 'b', 'null'), { nil: undefined })
const details = fc.record({
  description: text,
  summary: text,
  owner: text,
  meta: fc.option(fc.constantFrom({}, { a: 1 }, { a: null }), { nil: undefined }),
  image: fc.option(fc.constantFrom('i', 'j'), { nil: undefined }),
})
type Details = typeof details extends fc.Arbitrary<infer T> ? T : never

/** Without members that are undefined, which JSON does not have either. */
const given = <T extends object>(members: T): T => JSON.parse(JSON.stringify(members)) as T

const ID = '00000000-0005-7000-8000-000000000000' as EvidenceId
const SLOT_KEY = 'AA=='
const IDENTITY = {
  externalId: 'e-1',
  categoryId: 'c' as CategoryId,
  subcategoryId: 's' as CategoryId,
  name: 'Drill',
  slotKey: SLOT_KEY,
}

const evidenceWith = ({ image, ...rest }: Details): EvidenceWithoutEvent =>
  given({
    ...IDENTITY,
    ...rest,
    ...(image !== undefined && { image: { id: image as FileId, mimeType: 'image/png' } }),
    id: ID,
    company: 'acme' as CompanyId,
    createdAt: 5,
    stolen: false,
    txId: '11' as TxId,
    lastVersion: 1,
    lastTxId: '11' as TxId,
    lastAt: 5,
    changes: { create: 1, update: 0, transfer: 0 },
    fileCount: 0,
    position: 7,
    lastPosition: 7,
  }) as EvidenceWithoutEvent

const eventWith = ({ image, ...rest }: Details): EventRecord =>
  given({
    version: 1,
    time: 5,
    txId: '11' as TxId,
    position: 7,
    first: null,
    prev: null,
    type: 'create',
    ownerName: rest.owner ?? '',
    fields: {
      ...IDENTITY,
      slotKey: '00',
      ...rest,
      ...(image !== undefined && { imageId: image }),
      action: { type: 'create' },
      actor: 'scanner',
      company: 'acme',
      evidence: ID,
    },
    files: {},
    salts: '/w==',
  }) as EventRecord

const stored = (evidence: EvidenceRecord): EvidenceRecord => decodeRecord<EvidenceRecord>(putEvidence(evidence))

describe('the first event in the record of its evidence', () => {
  it('stays the same while the evidence changes', () =>
    fc.assert(
      fc.property(details, fc.array(details, { maxLength: 3 }), (created, later) => {
        const event = eventWith(created)
        let evidence = stored(withFirstEvent(evidenceWith(created), event))
        assert.deepEqual(firstEventOf(evidence), event)
        for (const state of later) {
          evidence = stored(withFirstEvent(evidenceWith(state), firstEventOf(evidence)))
          assert.deepEqual(firstEventOf(evidence), event)
        }
      }),
    ))

  it('repeats no value of the evidence', () => {
    const created: Details = { description: 'a', summary: 'b', owner: 'a', meta: { a: 1 }, image: 'i' }
    const evidence = evidenceWith(created)
    const event = eventWith(created)
    const { meta } = evidence
    const { first } = withFirstEvent(evidence, { ...event, fields: { ...event.fields, ...(meta && { meta }) } })
    assert.deepEqual(first, { salts: '/w==', fields: { actor: 'scanner' } })
  })

  it('is CORRUPT if the record does not have it', () => {
    const { key, value } = putEvidence(withFirstEvent(evidenceWith({} as Details), eventWith({} as Details)))
    const values = JSON.parse(new TextDecoder().decode(value.subarray(0, -8))) as readonly unknown[]
    for (const other of [[], {}, values.slice(0, 7), values.with(7, 'x')])
      assert.throws(() => decodeRecord<EvidenceRecord>({ key, value: withPosition(encodeRecord(other), 7) }), {
        code: 'CORRUPT',
      })
    for (const end of [-1, -8])
      assert.throws(() => decodeRecord<EvidenceRecord>({ key, value: value.subarray(0, end) }), { code: 'CORRUPT' })
  })
})
