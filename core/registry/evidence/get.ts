import type { HistoryEvent, HistoryPage, HistoryQuery, Meta } from '../../api/evidence.ts'
import type { BatchId } from '../../api/ids.ts'
import type { Json } from '../../commitment/canonical-json.ts'
import type { EntryStatus } from '../../log/reader.ts'
import { readEvents } from '../../store/events.ts'
import { keys } from '../../store/keys.ts'
import { requireRecord } from '../../store/read.ts'
import type { EventRecord, EvidenceRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { openCheckedEvent } from '../event/event.ts'
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
  const { record } = await requireRecord<EvidenceRecord>(context.records, keys.evidence(id), () =>
    missingEvidence(externalId, id),
  )
  const end = Math.min(after + limit, record.lastVersion)
  const versions = Array.from({ length: Math.max(0, end - after) }, (_, i) => after + 1 + i)
  const events = await readEvents(context.records, record, versions)
  return {
    evidence: evidenceOf(record),
    events: await historyEvents(context, record, events, disclose),
    lastVersion: events.at(-1)?.version ?? Math.min(after, record.lastVersion),
    hasMore: end < record.lastVersion,
  }
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
      ...(disclose && { disclosure: openCheckedEvent(event, { origin, slotKey }).disclosure }),
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
