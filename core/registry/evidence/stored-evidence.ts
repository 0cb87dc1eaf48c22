import type { Evidence } from '../../api/evidence.ts'
import type { EvidenceId } from '../../api/scope.ts'
import { RegistryError } from '../../errors.ts'
import type { Entry } from '../../ports/index.ts'
import { keys } from '../../store/keys.ts'
import type { ListedEvidence } from '../../store/evidence.ts'
import { danglingReference, readEntry, requireRecord, type Read } from '../../store/read.ts'
import type { EvidenceRecord, NameRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import type { AuthorizedScope } from '../permissions.ts'
import { ExternalId } from '../../schemas/fields.ts'
import { validate } from '../../schemas/validation.ts'

const evidenceNotFound = (): RegistryError =>
  new RegistryError('EVIDENCE_NOT_FOUND', 'There is no such evidence in this company')

/** The error for an evidence whose external id is stored, but whose record is not. */
export const missingEvidence = (externalId: string, id: string): RegistryError =>
  danglingReference(`The external id ${JSON.stringify(externalId)}`, `evidence ${id}`)

/** The internal id of an evidence. Throws `EVIDENCE_NOT_FOUND`, `VALIDATION_ERROR`. */
export async function idOfEvidence(
  { records, evidenceIds }: Context,
  { companyId }: AuthorizedScope,
  externalId: string,
): Promise<EvidenceId> {
  validate(ExternalId, externalId, 'externalId')
  const key = keys.externalId(externalId, companyId)
  const known = evidenceIds.get(key)
  if (known !== undefined) return known
  const { record } = await requireRecord<NameRecord<EvidenceId>>(records, key, evidenceNotFound)
  evidenceIds.set(key, record.id)
  return record.id
}

/** The record of an evidence. Throws `EVIDENCE_NOT_FOUND`, `VALIDATION_ERROR`. */
export async function readEvidence(
  context: Context,
  scope: AuthorizedScope,
  externalId: string,
): Promise<Read<EvidenceRecord>> {
  return readEntry<EvidenceRecord>(await readEvidenceEntry(context, scope, externalId))
}

/** As `readEvidence`, but the record is not decoded. */
export async function readEvidenceEntry(context: Context, scope: AuthorizedScope, externalId: string): Promise<Entry> {
  const id = await idOfEvidence(context, scope, externalId)
  const [entry] = await context.records.get([keys.evidence(id)])
  if (entry === undefined) throw missingEvidence(externalId, id)
  return entry
}

/**
 * The members that single evidences and lists have in common, as a new object. Add members with `Object.assign`: a
 * spread that is followed by more members takes several times as long.
 */
export const evidenceCore = (record: ListedEvidence) => ({
  id: record.id,
  externalId: record.externalId,
  categoryId: record.categoryId,
  subcategoryId: record.subcategoryId,
  name: record.name,
  status: record.stolen ? ('stolen' as const) : ('active' as const),
  createdAt: new Date(record.createdAt),
  txId: record.txId,
  ...(record.owner !== undefined && { owner: record.owner }),
  ...(record.summary !== undefined && { summary: record.summary }),
  ...(record.image !== undefined && { image: record.image }),
})

export const evidenceOf = (record: EvidenceRecord): Evidence =>
  Object.assign(evidenceCore(record), {
    ...(record.description !== undefined && { description: record.description }),
    ...(record.meta !== undefined && { meta: record.meta }),
    version: record.lastVersion,
  })
