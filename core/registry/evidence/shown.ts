import type { Evidence, HistoryEvent } from '../../api/evidence.ts'
import type { Meta } from '../../schemas/fields.ts'
import type { ErasedValue } from '../../api/erasures.ts'
import type { BatchId } from '../../api/scope.ts'
import type { Json } from '../../commitment/canonical-json.ts'
import type { EntryStatus } from '../../log/reader.ts'
import type { EventRecord, EvidenceRecord } from '../../store/records.ts'

/** What results show of evidences and their events. */

/** An object that is being made: a spread for each member that may be missing takes several times as long. */
type Draft<T> = { -readonly [Name in keyof T]: T[Name] }

/** The members that single evidences and lists have in common. */
type EvidenceCore = Draft<Omit<Evidence, 'description' | 'meta' | 'version' | 'lastTxId'>>

/** These members, as a new object. */
export function evidenceCore(record: EvidenceRecord): EvidenceCore {
  const { owner, summary, image } = record
  const shown: EvidenceCore = {
    id: record.id,
    externalId: record.externalId,
    categoryId: record.categoryId,
    subcategoryId: record.subcategoryId,
    name: record.name,
    status: record.stolen ? 'stolen' : 'active',
    createdAt: new Date(record.createdAt),
    txId: record.txId,
  }
  if (owner !== undefined) shown.owner = owner
  if (summary !== undefined) shown.summary = summary
  if (image !== undefined) shown.image = image
  return shown
}

/** What `get` shows of an evidence. */
export function evidenceOf(record: EvidenceRecord): Evidence {
  const { description, meta, lastVersion, lastTxId } = record
  const shown: Draft<Evidence> = Object.assign(evidenceCore(record), { version: lastVersion, lastTxId })
  if (description !== undefined) shown.description = description
  if (meta !== undefined) shown.meta = meta
  if (record.erased !== undefined) shown.erased = erasedValues(record.erased)
  return shown
}

/** What was erased, and when. `files`: those among the names. */
export const erasedValues = (at: Readonly<Record<string, number>>, files: object = {}): readonly ErasedValue[] =>
  Object.entries(at).map(([name, time]) => ({
    ...(Object.hasOwn(files, name) ? { field: 'files', file: name } : { field: name }),
    at: new Date(time),
  }))

/** What `get` shows of an event, without its disclosure. */
export function eventOf(event: EventRecord, status: EntryStatus | undefined): Draft<HistoryEvent> {
  const { version, type, updateType, time, ownerName, txId, fields } = event
  const { personaName, eventDescription, updateDescription, meta } = fields
  const shown: Draft<HistoryEvent> = {
    version,
    type,
    recordedAt: new Date(time),
    owner: ownerName,
    txId,
    batch: batchOf(status),
  }
  if (updateType !== undefined) shown.updateType = updateType
  if (isGiven(personaName)) shown.persona = personaName
  if (isGiven(eventDescription)) shown.eventDescription = eventDescription
  if (isGiven(updateDescription)) shown.updateDescription = updateDescription
  if (isMeta(meta)) shown.meta = meta
  if (event.erased?.at !== undefined) shown.erased = erasedValues(event.erased.at, event.erased.files)
  return shown
}

/** Whether it is a text that is set. */
const isGiven = (value: Json | undefined): value is string => typeof value === 'string' && value !== ''

const isMeta = (value: Json | undefined): value is Meta =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The batch of an event with this status, as results show it; `null` before it is in one. */
export const batchOf = (status: EntryStatus | undefined): HistoryEvent['batch'] =>
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- the log stores ids as texts
  status?.batch && status.sendStatus ? { id: status.batch.id as BatchId, sendStatus: status.sendStatus } : null
