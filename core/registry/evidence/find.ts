import type { EvidenceId } from '../../api/scope.ts'
import { corrupt, RegistryError } from '../../errors.ts'
import type { Key, Stored } from '../../ports/index.ts'
import { ExternalId } from '../../schemas/fields.ts'
import { validate } from '../../schemas/validation.ts'
import { decodeRecord, textOf } from '../../store/codec.ts'
import { hasExternalId } from '../../store/evidence-form.ts'
import { keys, lastPartOfKey, type StoredRecord } from '../../store/keys.ts'
import { assertUndamagedAround, danglingReference, type Read, readAll, readEntry } from '../../store/read.ts'
import type { EvidenceRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import type { AuthorizedScope } from '../permissions.ts'

const evidenceNotFound = (): RegistryError =>
  new RegistryError('EVIDENCE_NOT_FOUND', 'There is no such evidence in this company')

/** The error for an evidence whose external id is stored, but whose record is not. It is logged, so it names the id. */
export const missingEvidence = (id: string): RegistryError => danglingReference('An external id', `evidence ${id}`)

/** The error for an evidence whose record has another external id than the entry that leads to it. */
export const otherExternalId = (id: string): RegistryError =>
  corrupt(`An external id refers to evidence ${id}, which has another one`)

/** The internal id in the entry of an external id. */
// eslint-disable-next-line typescript/no-unsafe-type-assertion -- `evidenceEntries` wrote an id
export const namedId = (entry: Stored): EvidenceId => textOf(entry) as EvidenceId

/** The internal id of an evidence. Throws `EVIDENCE_NOT_FOUND`. */
async function idOfEvidence(
  { records, evidenceIds }: Context,
  { companyId }: AuthorizedScope,
  externalId: string,
): Promise<EvidenceId> {
  const key = keys.externalId(companyId, externalId)
  const [found] = await records.get([key])
  if (found === undefined) {
    await assertUndamagedAround(records, key, keys.allExternalIds())
    throw evidenceNotFound()
  }
  const id = namedId(found)
  evidenceIds.set(key, id)
  return id
}

/** The record of an evidence. Throws `EVIDENCE_NOT_FOUND`, `VALIDATION_ERROR`. */
export async function readEvidence(
  context: Context,
  scope: AuthorizedScope,
  externalId: string,
): Promise<Read<EvidenceRecord>> {
  return readEntry(await readEvidenceEntry(context, scope, externalId))
}

/**
 * As `readEvidence`, but the record is not decoded. Tells the scope the internal id. An erasure gives an evidence
 * another external id, also by another server, so a cached id is right only if the record still has the external id.
 */
export async function readEvidenceEntry(
  context: Context,
  scope: AuthorizedScope,
  externalId: string,
): Promise<StoredRecord<EvidenceRecord>> {
  validate(ExternalId, externalId, 'externalId')
  const cached = context.evidenceIds.get(keys.externalId(scope.companyId, externalId))
  const known = cached === undefined ? undefined : await readById(context, scope, cached)
  const isCurrent = known !== undefined && hasExternalId(known, externalId)
  const entry = isCurrent ? known : await readNamed(context, scope, externalId)
  scope.onEvidence?.(idIn(entry.key))
  return entry
}

async function readById({ records }: Context, { companyId }: AuthorizedScope, id: EvidenceId) {
  const [entry] = await readAll(records, [keys.evidence(companyId, id)])
  return entry
}

async function readNamed(
  context: Context,
  scope: AuthorizedScope,
  externalId: string,
): Promise<StoredRecord<EvidenceRecord>> {
  const id = await idOfEvidence(context, scope, externalId)
  const entry = await readById(context, scope, id)
  if (entry === undefined) throw missingEvidence(id)
  if (!hasExternalId(entry, externalId) && decodeRecord(entry).externalId !== externalId) {
    // An erasure has freed it meanwhile, or the record is damaged.
    const [named] = await context.records.get([keys.externalId(scope.companyId, externalId)])
    throw named !== undefined && namedId(named) === id ? otherExternalId(id) : evidenceNotFound()
  }
  return entry
}

// eslint-disable-next-line typescript/no-unsafe-type-assertion -- the key of an evidence ends with its id
const idIn = (key: Key): EvidenceId => lastPartOfKey(key) as EvidenceId
