import type { HistoryEvent, HistoryPage, HistoryQuery, Meta } from '../../api/evidences.ts'
import type { BatchId } from '../../api/ids.ts'
import type { Json } from '../../commitment/canonical-json.ts'
import { RegistryError } from '../../errors.ts'
import type { EntryStatus } from '../../log/reader.ts'
import type { Entry } from '../../ports/index.ts'
import { keys } from '../../store/keys.ts'
import { decodeRecord } from '../../store/record-codec.ts'
import type { EventRecord, EvidenceRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { openEvent } from '../event/event.ts'
import { entryOfTxId } from '../event/tx-id.ts'
import type { AuthorizedScope } from '../permissions.ts'
import { validate } from '../validation.ts'
import { historyQuerySchema } from './input.ts'
import { missingEvidence, evidenceOf, idOfEvidence } from './stored-evidence.ts'

const DEFAULT_LIMIT = 50

export async function getEvidence(
  context: Context,
  scope: AuthorizedScope,
  externalId: string,
  query: HistoryQuery = {},
): Promise<HistoryPage> {
  const { after = 0, limit = DEFAULT_LIMIT, disclose = false } = validate(historyQuerySchema, query)
  const id = await idOfEvidence(context, scope, externalId)
  // Most histories are short, so the first event of the page is read together with the evidence.
  const [evidence, first] = await context.records.get([keys.evidence(id), keys.event(id, after + 1)])
  if (evidence === undefined) throw missingEvidence(externalId, id)
  const record = decodeRecord<EvidenceRecord>(evidence)
  const end = Math.min(after + limit, record.lastVersion)
  const events = end <= after ? [] : [eventOf(record, first), ...(await readEvents(context, record, after + 2, end))]
  return {
    evidence: evidenceOf(record),
    events: await historyEvents(context, record, events, disclose),
    lastVersion: events.at(-1)?.version ?? Math.min(after, record.lastVersion),
    hasMore: end < record.lastVersion,
  }
}

/** Versions `from` to `to`, both inclusive. */
async function readEvents(
  { records }: Context,
  evidence: EvidenceRecord,
  from: number,
  to: number,
): Promise<readonly EventRecord[]> {
  const versions = Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i)
  if (versions.length === 0) return []
  const entries = await records.get(versions.map((version) => keys.event(evidence.id, version)))
  return entries.map((entry) => eventOf(evidence, entry))
}

function eventOf({ id }: EvidenceRecord, entry: Entry | undefined): EventRecord {
  if (entry === undefined)
    throw new RegistryError('CORRUPT', `An event of evidence ${id} is missing: restore the store from a backup`)
  return decodeRecord<EventRecord>(entry)
}

async function historyEvents(
  { log, origin }: Context,
  { slotKey }: EvidenceRecord,
  events: readonly EventRecord[],
  disclose: boolean,
): Promise<readonly HistoryEvent[]> {
  const statuses = await log.entryStatuses(events.map(({ txId }) => entryOfTxId(txId)))
  return events.map((event, i) =>
    Object.assign(describeEvent(event), {
      batch: batchOf(statuses[i]),
      ...(disclose && { disclosure: openEvent(event, { origin, slotKey }).disclosure }),
    }),
  )
}

function describeEvent(event: EventRecord): Omit<HistoryEvent, 'batch' | 'disclosure'> {
  const { version, type, updateType, time, ownerName, txId, fields } = event
  const { meta } = fields
  return {
    version,
    type,
    ...(updateType !== undefined && { updateType }),
    recordedAt: new Date(time),
    owner: ownerName,
    ...textMember('persona', fields['personaName']),
    ...textMember('eventDescription', fields['eventDescription']),
    ...textMember('updateDescription', fields['updateDescription']),
    ...(isMeta(meta) && { meta }),
    txId,
  }
}

/** A member for a text that is set. */
const textMember = <Name extends string>(name: Name, value: Json | undefined): { readonly [N in Name]?: string } =>
  typeof value === 'string' && value !== '' ? ({ [name]: value } as { [N in Name]: string }) : {}

const isMeta = (value: Json | undefined): value is Meta =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const batchOf = (status: EntryStatus | undefined): HistoryEvent['batch'] =>
  status?.batch && status.sendStatus ? { id: status.batch.id as BatchId, sendStatus: status.sendStatus } : null
