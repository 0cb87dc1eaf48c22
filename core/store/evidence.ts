import type { Json } from '../commitment/canonical-json.ts'
import { corrupt } from '../errors.ts'
import type { RecordStore } from '../ports/index.ts'
import { encodeUtf8, toHex } from '../bytes.ts'
import {
  hashOfOwner,
  type KeyedHash,
  keys,
  laterEventKey,
  type RecordKey,
  searchWords,
  type StoredRecord,
} from './keys.ts'
import { decodeRecord, encodeRecord, storedBase64 } from './codec.ts'
import { withPosition } from './commit-plan.ts'
import { type DerivedEntry, listEntry, textEntry } from './entries.ts'
import { evidenceText, type UnplacedEvidence } from './evidence-form.ts'
import { readAll } from './read.ts'
import type { EventRecord, EvidenceRecord, FirstEventRecord } from './records.ts'

/** What is stored of an evidence: its record with the first event, later events, its entries in lists and indexes. */

/**
 * The first event of an evidence is stored inside the evidence's record, without what the record says anyway. So a
 * create writes one record instead of two, and no value twice.
 */

/**
 * Reads events of an evidence.
 *
 * @param versions - versions that exist, ascending
 * @throws RegistryError `CORRUPT` if an event is missing
 */
export async function readEvents(
  records: RecordStore,
  evidence: EvidenceRecord,
  versions: readonly number[],
): Promise<readonly EventRecord[]> {
  const first = versions[0] === 1 ? [firstEventOf(evidence)] : []
  const later = versions.slice(first.length)
  if (later.length === 0) return first
  const entries = await readAll(
    records,
    later.map((version) => laterEventKey(evidence.company, evidence.id, version)),
  )
  return [...first, ...entries.map((entry, i) => decodeRecord(entry ?? missing(evidence, later[i])))]
}

/** Reads one event of an evidence. Throws `CORRUPT` if it is missing. */
export async function readEvent(records: RecordStore, evidence: EvidenceRecord, version: number): Promise<EventRecord> {
  const [event] = await readEvents(records, evidence, [version])
  return event ?? missing(evidence, version)
}

function missing({ id }: EvidenceRecord, version: number | undefined): never {
  throw corrupt(`Version ${version} of evidence ${id} is missing`)
}

/** The event in the record under `keys.event(…, version)`. Throws `CORRUPT` if the record does not hold it. */
export function eventInRecord(entry: StoredRecord<EvidenceRecord | EventRecord>): EventRecord {
  const record = decodeRecord(entry)
  return 'salts' in record ? record : firstEventOf(record)
}

/** An evidence's record without its first event. */
export type EvidenceWithoutEvent = Omit<EvidenceRecord, 'first'>

/** Adds the first event to an evidence's record, or replaces it. */
export const withFirstEvent = (evidence: EvidenceWithoutEvent, event: EventRecord): EvidenceRecord =>
  Object.assign({}, evidence, { first: firstEventRecord(evidence, event) })

/** The part of the first event that the evidence's record does not say. Changes whenever the record changes. */
export const firstEventRecord = (
  evidence: RecordedValues,
  { salts, fields, files, erased }: Pick<EventRecord, 'salts' | 'fields' | 'files' | 'erased'>,
): FirstEventRecord => ({
  salts,
  fields: differingFields(evidence, fields),
  ...(Object.keys(files).length > 0 && { files }),
  ...(erased !== undefined && { erased }),
})

/** The first event of an evidence, as its record holds it. Throws `CORRUPT` for a damaged slot key. */
export function firstEventOf(evidence: UnplacedEvidence): EventRecord {
  const { first } = evidence
  const fields = restoredFields(evidence, first.fields)
  const { owner } = fields
  return {
    version: 1,
    time: evidence.createdAt,
    txId: evidence.txId,
    position: evidence.position,
    first: null,
    prev: null,
    type: 'create',
    ownerName: typeof owner === 'string' ? owner : '',
    fields,
    files: first.files ?? {},
    salts: first.salts,
    ...(first.erased !== undefined && { erased: first.erased }),
  }
}

const ACTION = { type: 'create' }

type FieldValues = Readonly<Record<string, Json | undefined>>

/** The part of an evidence's record that has values for fields of a create event. */
type RecordedValues = Omit<
  EvidenceWithoutEvent,
  'txId' | 'position' | 'lastVersion' | 'lastTxId' | 'lastPosition' | 'lastAt' | 'changes'
>

/** The fields that can be erased and whose last value is in the record. */
export const CURRENT_FIELDS: readonly string[] = ['name', 'owner', 'description', 'summary', 'meta', 'externalId']

/** The value of the field `slotKey`, hex. */
export const slotKeyField = (slotKey: string): string => toHex(storedBase64(slotKey, 'A slot key'))

/** The values that the record has for fields of a create event. */
const recordedFields = (evidence: RecordedValues): FieldValues => ({
  action: ACTION,
  company: evidence.company,
  evidence: evidence.id,
  externalId: evidence.externalId,
  categoryId: evidence.categoryId,
  subcategoryId: evidence.subcategoryId,
  slotKey: slotKeyField(evidence.slotKey),
  name: evidence.name,
  description: evidence.description,
  summary: evidence.summary,
  owner: evidence.owner,
  meta: evidence.meta,
  imageId: evidence.image?.id,
})

/** The fields whose value in the record is another one; `null` for a field that only the record has. */
function differingFields(evidence: RecordedValues, fields: EventRecord['fields']): Readonly<Record<string, Json>> {
  const recorded = recordedFields(evidence)
  const differing: Record<string, Json> = {}
  for (const name in fields) {
    // Values are compared by identity: an equal object that is stored again does no harm.
    const value = fields[name]
    if (name !== 'action' && value !== undefined && value !== recorded[name]) differing[name] = value
  }
  for (const name in recorded) if (recorded[name] !== undefined && !Object.hasOwn(fields, name)) differing[name] = null
  return differing
}

function restoredFields(evidence: UnplacedEvidence, differing: FirstEventRecord['fields']): Record<string, Json> {
  const fields: Record<string, Json> = {}
  const values: FieldValues = Object.assign(recordedFields(evidence), differing)
  for (const name in values) {
    const value = values[name]
    if (value !== undefined && value !== null) fields[name] = value
  }
  return fields
}

/** How many words of an evidence are indexed at most. */
const MAX_WORDS = 12

/** The words by which a search finds an evidence. */
export const wordsOf = ({
  name,
  externalId,
  owner = '',
}: Pick<EvidenceRecord, 'name' | 'externalId' | 'owner'>): readonly string[] =>
  searchWords(`${name} ${externalId} ${owner}`).slice(0, MAX_WORDS)

/** The write that stores an evidence whose events are in the log. */
export const putEvidence = (evidence: EvidenceRecord): DerivedEntry => ({
  key: keys.evidence(evidence.company, evidence.id),
  value: withPosition(encodeUtf8(evidenceText(evidence)), evidence.lastPosition),
})

/** The write that stores an evidence in the commit that appends its last event. `text`: the stored form. */
export const putUnplaced = (
  { company, id }: Pick<EvidenceRecord, 'company' | 'id'>,
  text: string,
  positionOf: number,
): DerivedEntry => ({ key: keys.evidence(company, id), value: encodeUtf8(text), positionOf })

/** The write that stores an event from version 2 that is in the log. */
export const putEvent = (key: RecordKey<EventRecord>, { position, ...event }: EventRecord): DerivedEntry => ({
  key,
  value: withPosition(encodeRecord(event), position),
})

/** What the entries of an evidence follow from. */
export type IndexedEvidence = Pick<
  EvidenceRecord,
  'id' | 'company' | 'subcategoryId' | 'externalId' | 'name' | 'owner' | 'stolen' | 'lastVersion' | 'lastAt'
>

/** The external id of an evidence, its company, and its entries in lists and indexes. */
export function evidenceEntries(evidence: IndexedEvidence, hash: KeyedHash): readonly DerivedEntry[] {
  const { id, company, subcategoryId, externalId, owner, stolen, lastVersion, lastAt } = evidence
  const ofCompany = textEntry(keys.companyOf(id), company)
  const entries = [
    textEntry(keys.externalId(company, externalId), id),
    { key: keys.publicId(externalId, id), value: ofCompany.value },
    ofCompany,
    listEntry(keys.evidenceIn(['sub', company, subcategoryId], id)),
  ]
  if (lastVersion > 1) entries.push(listEntry(keys.updateIndex(company, lastAt, id)))
  for (const word of wordsOf(evidence)) entries.push(listEntry(keys.wordIndex(company, word, id)))
  if (owner !== undefined) entries.push(listEntry(keys.ownerIndex(company, hashOfOwner(company, owner, hash), id)))
  if (stolen) entries.push(listEntry(keys.evidenceIn(['stolen', company], id)))
  return entries
}
