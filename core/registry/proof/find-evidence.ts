import { isId, timeOfId } from '../../ids.ts'
import { keys, lastPartOfKey, type StoredRecord } from '../../store/keys.ts'
import { assertUndamagedAround, listEntries, lost, readAll } from '../../store/read.ts'
import { decodeRecord, textOf } from '../../store/codec.ts'
import type { EvidenceRecord } from '../../store/records.ts'
import type { AmbiguousEvidence, EvidenceCandidate, UnknownEvidence } from '../../schemas/proof-documents.ts'
import type { EvidenceSelector } from '../../api/proofs.ts'
import type { Context } from '../context.ts'
import { hexInput, uuidInput, validate } from '../../schemas/validation.ts'
import { missingEvidence, otherExternalId } from '../evidence/find.ts'
import { entryOfHex } from './log-proof.ts'
import { ExternalId } from '../../schemas/fields.ts'

/** Why there is no proof. Part of a proof document. */
type Failure = Omit<UnknownEvidence, 'evidenceId'>

/** Several companies use the external id. */
type Ambiguity = Omit<AmbiguousEvidence, 'evidenceId'>

/** The part of the document for a request that is not valid. */
export const invalid = (error: string): Failure => ({ status: 'invalid', error, code: 'VALIDATION_ERROR' })

const notFound: Failure = { status: 'not_found', error: 'There is no such evidence', code: 'EVIDENCE_NOT_FOUND' }
const AMBIGUOUS =
  'Several companies use this external id: use the internal id of one of the candidates as evidenceId, or ' +
  'add ?txId= with its txId, or ?companyId='

const MAX_CANDIDATES = 100

/** An evidence. Its record is decoded when it is first needed, because a cached proof needs only its version. */
export class FoundEvidence {
  readonly entry: StoredRecord<EvidenceRecord>
  #record: EvidenceRecord | undefined

  constructor(entry: StoredRecord<EvidenceRecord>) {
    this.entry = entry
  }

  /** Throws `CORRUPT` if the stored bytes are not a record. */
  get record(): EvidenceRecord {
    return (this.#record ??= decodeRecord(this.entry))
  }
}

/**
 * With `companyId`: by the external id in that company, then by the internal id of one of its evidences. Otherwise by
 * the internal id, then by the external id, which must belong to a single company unless `txId` selects one. An
 * external id of one company can be the internal id of another company's evidence.
 */
export async function findEvidence(
  context: Context,
  { evidenceId, companyId, txId }: EvidenceSelector,
): Promise<FoundEvidence | Failure | Ambiguity> {
  if (!isExternalId(evidenceId)) return invalid('evidenceId must be the external id or the internal id of an evidence')
  const entry = txId === undefined ? undefined : hexInput(txId)
  if (entry !== undefined && entryOfHex(entry) === undefined) return invalid('txId must be a string of 64 hex digits')
  const found = await (companyId === undefined
    ? findInAllCompanies(context, evidenceId, entry)
    : findInCompany(context, evidenceId, companyId))
  if (found === undefined) {
    await assertEvidenceNeverStored(context, evidenceId, companyId)
    return notFound
  }
  if (found instanceof FoundEvidence && entry !== undefined && found.record.txId !== entry) return notFound
  return found
}

async function findInCompany(
  context: Context,
  evidenceId: string,
  companyId: string,
): Promise<FoundEvidence | undefined> {
  const [name] = await context.records.get([keys.externalId(companyId, evidenceId)])
  if (name !== undefined) return readNamed(context, companyId, textOf(name))
  const id = uuidInput(evidenceId)
  return isId(id) ? readFound(context, companyId, id) : undefined
}

async function findInAllCompanies(
  context: Context,
  evidenceId: string,
  txId: string | undefined,
): Promise<FoundEvidence | Ambiguity | undefined> {
  const { records } = context
  const byId = await findById(context, evidenceId)
  if (byId !== undefined && (txId === undefined || byId.record.txId === txId)) return byId
  const [first, second] = await listEntries(records, { ...keys.publicIds(evidenceId), limit: 2 })
  if (first === undefined) return undefined
  if (second === undefined) {
    const found = await readNamed(context, textOf(first), lastPartOfKey(first.key))
    return (await hasName(context, found.record, evidenceId)) ? found : undefined
  }
  if (txId !== undefined) return findByTxId(context, evidenceId, txId)
  const candidates = await candidatesOf(context, evidenceId)
  // An erasure has freed the external id of the others meanwhile.
  if (candidates.length < 2) return findInAllCompanies(context, evidenceId, txId)
  return { status: 'ambiguous', error: AMBIGUOUS, code: 'AMBIGUOUS', candidates }
}

/**
 * Whether the evidence that an external id led to has it. An erasure may have freed it meanwhile. Otherwise throws
 * `CORRUPT`: it would be a proof of something else.
 */
async function hasName({ records }: Context, { id, externalId }: EvidenceRecord, named: string): Promise<boolean> {
  if (externalId === named) return true
  const [entry] = await records.get([keys.publicId(named, id)])
  if (entry !== undefined) throw otherExternalId(id)
  return false
}

/** Reads the evidence that an external id refers to. Throws `CORRUPT` if it is missing. */
async function readNamed(context: Context, company: string, id: string): Promise<FoundEvidence> {
  const found = await readFound(context, company, id)
  if (found === undefined) throw missingEvidence(id)
  return found
}

async function readFound({ records }: Context, company: string, id: string): Promise<FoundEvidence | undefined> {
  const [entry] = await readAll(records, [keys.evidence(company, id)])
  return entry && new FoundEvidence(entry)
}

/** Throws `CORRUPT` if the company of the evidence is stored, but the evidence is missing. */
async function findById(context: Context, text: string): Promise<FoundEvidence | undefined> {
  const id = uuidInput(text)
  if (!isId(id)) return undefined
  const [company] = await context.records.get([keys.companyOf(id)])
  if (company === undefined) return undefined
  const found = await readFound(context, textOf(company), id)
  if (found === undefined) throw lost(`The evidence ${id}`)
  return found
}

/**
 * Throws `CORRUPT` if there are signs that the store has lost an evidence with this id: a damaged record beside its
 * place, or its event in the log. What cannot be seen from here, such as another order of the log, the scrub finds.
 */
async function assertEvidenceNeverStored(context: Context, text: string, companyId: string | undefined): Promise<void> {
  const { records, log } = context
  const id = uuidInput(text)
  if (!isId(id))
    return companyId === undefined
      ? assertUndamagedAround(records, keys.publicIds(text).gte, keys.allPublicIds())
      : assertUndamagedAround(records, keys.externalId(companyId, text), keys.allExternalIds())
  await assertUndamagedAround(records, keys.companyOf(id), keys.allCompaniesOf())
  if (companyId !== undefined) await assertUndamagedAround(records, keys.evidence(companyId, id), keys.evidences())
  if (!(await log.eventTimes.holds(id, timeOfId(id)))) return
  // It may have been created after the first look, or be another company's.
  if ((await findById(context, id)) === undefined) throw lost(`The evidence ${id}, which is in the log,`)
}

/** The evidence with this external id that has an event with this txId. */
async function findByTxId(context: Context, externalId: string, txId: string): Promise<FoundEvidence | undefined> {
  const entry = entryOfHex(txId)
  const payload = entry && (await context.log.payloadOf(entry))
  if (payload?.kind !== 'event') return undefined
  const evidence = await readFound(context, payload.company, payload.evidenceId)
  if (evidence === undefined) throw lost(`The evidence ${payload.evidenceId}, which is in the log,`)
  return evidence.record.externalId === externalId ? evidence : undefined
}

/** The oldest evidences with this external id. Ids are in the order of creation. */
async function candidatesOf(context: Context, externalId: string): Promise<EvidenceCandidate[]> {
  const rows = await listEntries(context.records, { ...keys.publicIds(externalId), limit: MAX_CANDIDATES })
  const named = rows.map((row) => ({ company: textOf(row), id: lastPartOfKey(row.key) }))
  const entries = await readAll(
    context.records,
    named.map(({ company, id }) => keys.evidence(company, id)),
  )
  const candidates: EvidenceCandidate[] = []
  for (const [i, { id: stored }] of named.entries()) {
    const entry = entries[i]
    if (entry === undefined) throw missingEvidence(stored)
    const record = decodeRecord(entry)
    const { id, txId, createdAt } = record
    if (await hasName(context, record, externalId))
      candidates.push({ id, txId, createdAt: new Date(createdAt).toISOString() })
  }
  return candidates
}

function isExternalId(text: string): boolean {
  try {
    validate(ExternalId, text)
    return true
  } catch {
    return false
  }
}
