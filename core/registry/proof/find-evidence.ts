import type { EvidenceId } from '../../api/ids.ts'
import { isId } from '../../ids.ts'
import { keys } from '../../store/keys.ts'
import { listEntries, readRecord } from '../../store/read.ts'
import { decodeRecord } from '../../store/record-codec.ts'
import type { EvidenceRecord, NameRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { ExternalId } from '../schemas.ts'
import { validate } from '../validation.ts'

/** Which evidence a proof is about. */
export interface EvidenceSelector {
  /** Internal or external id. */
  readonly evidenceId: string
  readonly companyId?: string
}

/** Why there is no proof. Part of a proof document. */
export interface Failure<Status extends 'invalid' | 'not_found' | 'ambiguous' = 'invalid' | 'not_found' | 'ambiguous'> {
  readonly status: Status
  readonly error: string
  readonly code: string
}

export const invalid = (error: string): Failure<'invalid'> => ({ status: 'invalid', error, code: 'VALIDATION_ERROR' })

const notFound: Failure = { status: 'not_found', error: 'There is no such evidence', code: 'EVIDENCE_NOT_FOUND' }
const ambiguous: Failure = {
  status: 'ambiguous',
  error: 'Several evidences have this external id: use the internal id, or name the company',
  code: 'AMBIGUOUS',
}

/** An internal id takes precedence. An external id must belong to `companyId` or, without it, to a single company. */
export async function findEvidence(
  { records }: Context,
  { evidenceId, companyId }: EvidenceSelector,
): Promise<{ readonly record: EvidenceRecord } | Failure> {
  const byId = isId(evidenceId) ? await readRecord<EvidenceRecord>(records, keys.evidence(evidenceId)) : undefined
  if (byId !== undefined) return byId
  if (!isExternalId(evidenceId)) return invalid('evidenceId must be the external id or the internal id of an evidence')
  const [id, ...others] = await idsOf({ records }, { evidenceId, ...(companyId !== undefined && { companyId }) })
  if (others.length > 0) return ambiguous
  const evidence = id && (await readRecord<EvidenceRecord>(records, keys.evidence(id)))
  return evidence || notFound
}

/** The internal ids that an external id can mean: at most two, because two are ambiguous already. */
async function idsOf(
  { records }: Pick<Context, 'records'>,
  { evidenceId, companyId }: EvidenceSelector,
): Promise<readonly EvidenceId[]> {
  if (companyId === undefined) {
    const entries = await listEntries(records, { ...keys.externalIds(evidenceId), limit: 2 })
    return entries.map((entry) => decodeRecord<NameRecord<EvidenceId>>(entry).id)
  }
  const name = await readRecord<NameRecord<EvidenceId>>(records, keys.externalId(evidenceId, companyId))
  return name === undefined ? [] : [name.record.id]
}

function isExternalId(text: string): boolean {
  try {
    validate(ExternalId, text)
    return true
  } catch {
    return false
  }
}
