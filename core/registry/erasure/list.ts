import type { ErasureOutcome, EvidenceErasure, SubjectErasure, SubjectErasureResult } from '../../api/erasures.ts'
import type { Evidences } from '../../api/evidences.ts'
import type { CompanyId } from '../../api/scope.ts'
import { RegistryError } from '../../errors.ts'
import { isId } from '../../ids.ts'
import type { Key, RecordStore } from '../../ports/index.ts'
import { AuditQuery } from '../../schemas/company-inputs.ts'
import { IdToFind } from '../../schemas/fields.ts'
import { invalidInput, uuidInput, validate } from '../../schemas/validation.ts'
import { decodeRecord, textOf } from '../../store/codec.ts'
import { keys, lastPartOfKey, partsOfKey } from '../../store/keys.ts'
import { danglingReference, listedRecords, listEntries, readAll } from '../../store/read.ts'
import type { ErasureRecord, SubjectErasureRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { newestEntries, type RowBounds } from '../evidence/rows.ts'
import { enterCompany } from '../permissions.ts'

const DEFAULT_LIMIT = 100

/** The erasures of a company, newest first. */
export const listErasures =
  ({ records }: Context): Evidences['erasures'] =>
  async (scope, query = {}) => {
    const { companyId } = await enterCompany({ records }, scope, 'A')
    const { after, limit = DEFAULT_LIMIT } = validate(AuditQuery, query)
    const before = after === undefined ? undefined : uuidInput(after)
    if (before !== undefined && !isId(before)) throw invalidInput('after', 'must be the id of an erasure')
    const items = await readErasures(records, companyId, { before, limit: limit + 1 })
    return { items: items.slice(0, limit), hasMore: items.length > limit }
  }

/** One erasure of a company. */
export const readErasure =
  ({ records }: Context): Evidences['erasure'] =>
  async (scope, id) => {
    const { companyId } = await enterCompany({ records }, scope, 'A')
    const from = uuidInput(validate(IdToFind, id, 'id'))
    const bounds = { from, before: `${from}\0`, limit: 1 }
    const [erasure] = isId(from) ? await readErasures(records, companyId, bounds) : []
    if (erasure === undefined) throw new RegistryError('ERASURE_NOT_FOUND', 'There is no such erasure in this company')
    return erasure.kind === 'evidence' ? erasure : withFound(records, companyId, erasure)
  }

async function readErasures(
  records: RecordStore,
  company: CompanyId,
  bounds: RowBounds & { readonly limit: number },
): Promise<readonly (EvidenceErasure | SubjectErasure)[]> {
  const listed = await newestEntries(records, keys.erasuresIn(company), bounds)
  const ofSubjects = await newestEntries(records, keys.subjectErasuresOf(company), bounds)
  const ids = listed.map(({ key }) => lastPartOfKey(key))
  const found = await readAll(
    records,
    listed.map((entry, i) => keys.erasure(company, textOf(entry), ids[i] ?? '')),
  )
  const pending = await records.get(ids.map(keys.pendingErasure))
  const ofEvidences = found.map((entry, i) => {
    if (entry === undefined) throw danglingReference('The list of erasures', `erasure ${ids[i]}`)
    const { at, evidence, salt: _, text: __, txId, erased, ...shown } = decodeRecord(entry)
    const disk = pending[i] === undefined ? 'done' : 'pending'
    const when = { at: new Date(at), evidenceId: evidence }
    return { kind: 'evidence', ...shown, ...when, erased: erasedParts(erased), receipt: { txId }, disk } as const
  })
  const items = [...ofEvidences, ...ofSubjects.map((entry) => shownSubjectErasure(decodeRecord(entry)))]
  return items.toSorted((a, b) => (a.id < b.id ? 1 : -1))
}

/** Without what the background works with. */
function shownSubjectErasure(record: SubjectErasureRecord): SubjectErasure {
  const { createdAt, holder: _, heldAt, cursor: __, ...shown } = record
  const isDone = shown.state === 'done' || shown.state === 'failed'
  return {
    kind: 'subject',
    ...shown,
    createdAt: new Date(createdAt),
    ...(isDone && heldAt && { doneAt: new Date(heldAt) }),
  }
}

const MAX_FOUND = 1_000

/** Adds what it has found, with the present external ids. */
async function withFound(
  records: RecordStore,
  company: CompanyId,
  erasure: SubjectErasure,
): Promise<SubjectErasureResult> {
  const listed = await listEntries(records, { ...keys.foundBy(company, erasure.id), limit: MAX_FOUND + 1 })
  const evidenceOf = (key: Key) => keys.evidence(company, partsOfKey(key).at(-3) ?? '')
  const evidences = await listedRecords(records, listed.slice(0, MAX_FOUND), evidenceOf)
  const found = evidences.map((entry, i) => {
    const { id: evidenceId, externalId } = decodeRecord(entry)
    const [version = '', field = ''] = partsOfKey(listed[i]?.key ?? '').slice(-2)
    return { evidenceId, externalId, version: Number.parseInt(version, 16), field }
  })
  return { ...erasure, found, isMore: listed.length > MAX_FOUND }
}

/** One item for each field and file, as results show them. */
export const erasedParts = (erased: ErasureRecord['erased']): ErasureOutcome['erased'] =>
  erased.flatMap(({ version, fields, files }) => [
    ...fields.map((field) => ({ version, field })),
    ...files.map((file) => ({ version, field: 'files', file })),
  ])
