import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { CategoryId, CompanyId, EvidenceId } from '../../../../core/api/scope.ts'
import { toBase64 } from '../../../../core/bytes.ts'
import { makeEvent, newSecret, txIdOfEntry } from '../../../../core/registry/event/make.ts'
import { discloseEvent } from '../../../../core/registry/event/opening.ts'
import { makeEvidence } from '../../../../core/registry/evidence/make.ts'
import { decodeRecord, type RecordBytes } from '../../../../core/store/codec.ts'
import { withPosition } from '../../../../core/store/commit-plan.ts'
import type { EvidenceRecord } from '../../../../core/store/records.ts'

const slotKey = new Uint8Array(32).fill(0x11)
const source = { origin: 'log/0', slotKey: toBase64(slotKey) }

const head = { version: 1, time: 1_000, first: null, prev: null, type: 'create', files: {} } as const
const draft = {
  ...head,
  company: 'acme' as CompanyId,
  evidenceId: '0192f1a0-7c3e-7abc-8def-0123456789ab' as EvidenceId,
  fields: { owner: undefined, name: '"Drill"' },
}

it('draws a new slot key and a new seed for each evidence, also for the same input', () => {
  const [categoryId, subcategoryId] = ['c-1' as CategoryId, 's-1' as CategoryId]
  const target = { origin: 'log/0', hash: String, actor: 'a', companyId: draft.company, categoryId, subcategoryId }
  const input = { externalId: 'e-1', name: 'Drill' }
  const made = Array.from({ length: 50 }, () => {
    const { writes } = makeEvidence({ ...target, files: { files: [] } }, { id: draft.evidenceId, input })
    const { key: recordKey, value } = writes[0] as RecordBytes<EvidenceRecord>
    const { slotKey: key, first } = decodeRecord<EvidenceRecord>({ key: recordKey, value: withPosition(value, 1) })
    return [key, JSON.stringify(first.salts).slice(1, -1)]
  }).flat()
  assert.equal(new Set(made).size, 100)
  for (const secret of made) assert.match(secret, /^[\w+/]{43}=$/)
})

it('does not disclose a stored event that does not hash to its txId', () => {
  const seed = newSecret()
  const { entry } = makeEvent(draft, source.origin, { slotKey, seed })
  const made = {
    ...head,
    position: 1,
    fields: { name: 'Drill' },
    ownerName: '',
    salts: toBase64(seed),
    txId: txIdOfEntry(entry),
  }
  assert.equal(discloseEvent(made, source).fields['name']?.text, '["name","Drill"]')
  for (const damaged of [
    { ...made, fields: { name: 'Saw' } },
    { ...made, time: made.time + 1 },
  ])
    assert.throws(() => discloseEvent(damaged, source), { code: 'CORRUPT' })
  assert.throws(() => discloseEvent(made, { ...source, slotKey: toBase64(new Uint8Array(32)) }), {
    code: 'CORRUPT',
  })
})
