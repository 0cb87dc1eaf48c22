import type { Evidence, HistoryEvent } from '../../api/evidence.ts'
import type { Meta } from '../../schemas/fields.ts'
import type { BatchId } from '../../api/scope.ts'
import type { Json } from '../../commitment/canonical-json.ts'
import type { EntryStatus } from '../../log/reader.ts'
import type { EventRecord, EvidenceRecord } from '../../store/records.ts'

/** What results show of evidences and their events. */

/**
 * The members that single evidences and lists have in common, as a new object. Add members with `Object.assign`: a
 * spread that is followed by more members takes several times as long.
 */
export const evidenceCore = (record: EvidenceRecord) => ({
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

/** What `get` shows of an evidence. */
export const evidenceOf = (record: EvidenceRecord): Evidence =>
  Object.assign(evidenceCore(record), {
    ...(record.description !== undefined && { description: record.description }),
    ...(record.meta !== undefined && { meta: record.meta }),
    version: record.lastVersion,
  })

export function describeEvent(event: EventRecord): Omit<HistoryEvent, 'batch' | 'disclosure'> {
  const { version, type, updateType, time, ownerName, txId, fields } = event
  const { meta } = fields
  const persona = givenText(fields['personaName'])
  const eventDescription = givenText(fields['eventDescription'])
  const updateDescription = givenText(fields['updateDescription'])
  return {
    version,
    type,
    recordedAt: new Date(time),
    owner: ownerName,
    txId,
    ...(updateType !== undefined && { updateType }),
    ...(persona !== undefined && { persona }),
    ...(eventDescription !== undefined && { eventDescription }),
    ...(updateDescription !== undefined && { updateDescription }),
    ...(isMeta(meta) && { meta }),
  }
}

/** A text that is set. */
const givenText = (value: Json | undefined): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

const isMeta = (value: Json | undefined): value is Meta =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The batch of an event with this status, as results show it; `null` before it is in one. */
export const batchOf = (status: EntryStatus | undefined): HistoryEvent['batch'] =>
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- the log stores ids as texts
  status?.batch && status.sendStatus ? { id: status.batch.id as BatchId, sendStatus: status.sendStatus } : null
