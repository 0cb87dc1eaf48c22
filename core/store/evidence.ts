import type { Json } from '../commitment/canonical-json.ts'
import { corrupt } from '../errors.ts'
import type { RecordStore } from '../ports/index.ts'
import { foldCase, keys, laterEventKey, listedKey, searchWords, type StoredRecord } from './keys.ts'
import { corruptRecord, decodeRecord, type DerivedEntry, encodeRecord, listEntry, nameEntry, readAll } from './read.ts'
import type { EventRecord, EvidenceRecord, FirstEventRecord, ListedEvidence, ListedValues } from './records.ts'

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
    later.map((version) => laterEventKey(evidence.id, version)),
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
  { salts, fields, files, erased }: EventRecord,
): FirstEventRecord => ({
  salts,
  fields: differingFields(evidence, fields),
  ...(Object.keys(files).length > 0 && { files }),
  ...(erased !== undefined && { erased }),
})

/**
 * The first event of an evidence, as its record holds it.
 *
 * @throws RegistryError `CORRUPT` if the record holds no event
 */
export function firstEventOf(evidence: EvidenceRecord): EventRecord {
  const { first } = evidence
  if (typeof first?.salts !== 'object' || typeof first.fields !== 'object')
    throw corrupt(`The record of evidence ${evidence.id} holds no first event`)
  const fields = restoredFields(evidence, first.fields)
  const { owner } = fields
  return {
    version: 1,
    time: evidence.createdAt,
    txId: evidence.txId,
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
type RecordedValues = Omit<EvidenceWithoutEvent, 'txId' | 'lastVersion' | 'lastTxId' | 'lastAt' | 'changes'>

/** The values that the record has for fields of a create event. */
const recordedFields = (evidence: RecordedValues): FieldValues => ({
  action: ACTION,
  company: evidence.company,
  evidence: evidence.id,
  externalId: evidence.externalId,
  categoryId: evidence.categoryId,
  subcategoryId: evidence.subcategoryId,
  slotKey: evidence.slotKey,
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

function restoredFields(evidence: EvidenceRecord, differing: FirstEventRecord['fields']): Record<string, Json> {
  const fields: Record<string, Json> = {}
  const values: FieldValues = Object.assign(recordedFields(evidence), differing)
  for (const name in values) {
    const value = values[name]
    if (value !== undefined && value !== null) fields[name] = value
  }
  return fields
}

/**
 * The bytes of an evidence's entry in the list of its company. They are always the same for the same evidence, so that
 * fsck can compare them.
 */
export const encodeListed = (evidence: EvidenceRecord): Uint8Array =>
  encodeRecord([
    evidence.id,
    evidence.company,
    evidence.externalId,
    evidence.categoryId,
    evidence.subcategoryId,
    evidence.createdAt,
    evidence.name,
    evidence.stolen,
    evidence.owner ?? null,
    evidence.summary ?? null,
    evidence.image ?? null,
    evidence.txId,
    evidence.lastTxId === evidence.txId ? null : evidence.lastTxId,
    evidence.lastAt,
    evidence.changes.create,
    evidence.changes.update,
    evidence.changes.transfer,
  ] satisfies ListedValues)

/** The inverse of `encodeListed`. Throws `CORRUPT` if the bytes are not a JSON array. */
export function decodeListed(entry: StoredRecord<ListedValues>): ListedEvidence {
  const values = decodeRecord(entry)
  if (!Array.isArray(values)) throw corruptRecord(entry, 'not a JSON array')
  return {
    id: values[0],
    company: values[1],
    externalId: values[2],
    categoryId: values[3],
    subcategoryId: values[4],
    createdAt: values[5],
    name: values[6],
    stolen: values[7],
    owner: values[8] ?? undefined,
    summary: values[9] ?? undefined,
    image: values[10] ?? undefined,
    txId: values[11],
    lastTxId: values[12] ?? values[11],
    lastAt: values[13],
    changes: { create: values[14], update: values[15], transfer: values[16] },
  }
}

/** How many words of an evidence are indexed at most. */
const MAX_WORDS = 12

/** The words by which a search finds an evidence. */
export const wordsOf = ({
  name,
  externalId,
  owner = '',
}: Pick<ListedEvidence, 'name' | 'externalId' | 'owner'>): readonly string[] =>
  searchWords(`${name} ${externalId} ${owner}`).slice(0, MAX_WORDS)

/**
 * The external id of an evidence, and its entries in lists and indexes. The one in the list of its company has what
 * lists show as its value, so that a page of it is read in one go.
 */
export function evidenceEntries(evidence: EvidenceRecord): readonly DerivedEntry[] {
  const { id, company, categoryId, subcategoryId, externalId, owner, stolen, lastAt } = evidence
  const entries = [
    nameEntry(keys.externalId(externalId, company), evidence),
    { key: listedKey(company, id), value: encodeListed(evidence) },
    listEntry(keys.evidenceIn(['category', categoryId, subcategoryId], id)),
    listEntry(keys.externalIdIndex(company, externalId, id)),
    listEntry(keys.updateIndex(company, lastAt, id)),
  ]
  for (const word of wordsOf(evidence)) entries.push(listEntry(keys.wordIndex(company, word, id)))
  if (owner !== undefined) entries.push(listEntry(keys.ownerIndex(company, foldCase(owner), id)))
  if (stolen) entries.push(listEntry(keys.evidenceIn(['stolen', company], id)))
  return entries
}
