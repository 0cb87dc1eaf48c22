import type { HistoryEvent, HistoryPage, HistoryQuery, Meta, Evidence } from '../../api/evidence.ts'
import type { Evidences } from '../../api/evidences.ts'
import type { BatchId, EvidenceId, Known } from '../../api/scope.ts'
import type { Json } from '../../commitment/canonical-json.ts'
import type { EntryStatus } from '../../log/reader.ts'
import type { AnchorHeadRecord } from '../../log/records.ts'
import type { Stored, Version } from '../../ports/index.ts'
import { readEvents } from '../../store/evidence.ts'
import type { EventRecord, EvidenceRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { listFiles } from '../file/stored-file.ts'
import { discloseEvent } from '../event/event.ts'
import { type AuthorizedScope, enterCompany } from '../permissions.ts'
import { validate } from '../../schemas/validation.ts'
import { historyQuerySchema } from './input.ts'
import { RegistryError } from '../../errors.ts'
import { hasState, withState } from '../../store/cache.ts'
import { keys, type StoredRecord } from '../../store/keys.ts'
import {
  assertUndamagedAround,
  danglingReference,
  decodeRecord,
  readAll,
  readEntry,
  textOf,
  type Read,
} from '../../store/read.ts'
import { ExternalId } from '../../schemas/fields.ts'

const DEFAULT_LIMIT = 50

/** Reads an evidence with a page of its history, each event with the state of its batch. */
export const getEvidenceIfChanged =
  (context: Context): Evidences['getIfChanged'] =>
  async (scope, externalId, query, known) => {
    const entered = await enterCompany(context, scope, 'R')
    const selection = validate(historyQuerySchema, query)
    const entry = await readEvidenceEntry(context, entered, externalId)
    if (hasState<HistoryState>(known, 'confirmedFrom') && known.state.version === entry.version)
      if (isWithin(known.state, (await context.log.anchors()).head)) return known
    return readHistory(context, entry, selection)
  }

/**
 * What has to stay the same for a page to stay the same: the evidence's record, and the sizes of the newest confirmed
 * and sent anchors with which its events have the same status. Another server may change both.
 */
interface HistoryState {
  readonly version: Version
  readonly confirmedFrom: number
  readonly confirmedBelow: number
  readonly sentFrom: number
  readonly sentBelow: number
}

const isWithin = (range: HistoryState, { confirmedSize, sentSize }: AnchorHeadRecord): boolean =>
  confirmedSize >= range.confirmedFrom &&
  confirmedSize < range.confirmedBelow &&
  sentSize >= range.sentFrom &&
  sentSize < range.sentBelow

/** Reads a page of the history of an evidence, by default of its first events. */
async function readHistory(
  { records, log, origin }: Context,
  entry: StoredRecord<EvidenceRecord>,
  { after = 0, limit = DEFAULT_LIMIT, disclose = false }: HistoryQuery,
): Promise<HistoryPage & Known> {
  const record = decodeRecord(entry)
  const end = Math.min(after + limit, record.lastVersion)
  const versions = Array.from({ length: Math.max(0, end - after) }, (_, i) => after + 1 + i)
  const events = await readEvents(records, record, versions)
  const statuses = await log.eventStatuses(events.map(({ txId }) => txId))
  const { slotKey } = record
  const page: HistoryPage = {
    evidence: evidenceOf(record),
    events: events.map((event, i) =>
      Object.assign(describeEvent(event), {
        batch: batchOf(statuses[i]),
        ...(disclose && { disclosure: discloseEvent(event, { origin, slotKey }) }),
      }),
    ),
    lastVersion: events.at(-1)?.version ?? Math.min(after, record.lastVersion),
    hasMore: end < record.lastVersion,
  }
  const state = stateOf(entry.version, statuses)
  return state === undefined ? page : withState(page, state)
}

/** `undefined` if an event is not in a batch yet. */
function stateOf(version: Version, statuses: readonly EntryStatus[]): HistoryState | undefined {
  const state = { version, confirmedFrom: 0, confirmedBelow: Infinity, sentFrom: 0, sentBelow: Infinity }
  for (const { batch, sendStatus } of statuses) {
    if (batch === null) return undefined
    if (sendStatus === 'C') state.confirmedFrom = Math.max(state.confirmedFrom, batch.end)
    else state.confirmedBelow = Math.min(state.confirmedBelow, batch.end)
    if (sendStatus === 'S') state.sentFrom = Math.max(state.sentFrom, batch.end)
    if (sendStatus === 'P') state.sentBelow = Math.min(state.sentBelow, batch.end)
  }
  return state
}

function describeEvent(event: EventRecord): Omit<HistoryEvent, 'batch' | 'disclosure'> {
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

const evidenceNotFound = (): RegistryError =>
  new RegistryError('EVIDENCE_NOT_FOUND', 'There is no such evidence in this company')

/** The error for an evidence whose external id is stored, but whose record is not. */
export const missingEvidence = (externalId: string, id: string): RegistryError =>
  danglingReference(`The external id ${JSON.stringify(externalId)}`, `evidence ${id}`)

/** The internal id in the entry of an external id. */
// eslint-disable-next-line typescript/no-unsafe-type-assertion -- `evidenceEntries` wrote an id
const namedId = (entry: Stored): EvidenceId => textOf(entry) as EvidenceId

/** The internal id of an evidence. Throws `EVIDENCE_NOT_FOUND`, `VALIDATION_ERROR`. */
export async function idOfEvidence(
  { records, evidenceIds }: Context,
  { companyId }: AuthorizedScope,
  externalId: string,
): Promise<EvidenceId> {
  validate(ExternalId, externalId, 'externalId')
  const key = keys.externalId(companyId, externalId)
  const known = evidenceIds.get(key)
  if (known !== undefined) return known
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

/** As `readEvidence`, but the record is not decoded. */
export async function readEvidenceEntry(
  context: Context,
  scope: AuthorizedScope,
  externalId: string,
): Promise<StoredRecord<EvidenceRecord>> {
  const id = await idOfEvidence(context, scope, externalId)
  const [entry] = await readAll(context.records, [keys.evidence(scope.companyId, id)])
  if (entry === undefined) throw missingEvidence(externalId, id)
  return entry
}

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
const evidenceOf = (record: EvidenceRecord): Evidence =>
  Object.assign(evidenceCore(record), {
    ...(record.description !== undefined && { description: record.description }),
    ...(record.meta !== undefined && { meta: record.meta }),
    version: record.lastVersion,
  })

/** The files of an evidence, its category and its subcategory. */
export const listEvidenceFiles =
  (context: Context): Evidences['files'] =>
  async (scope, externalId) => {
    const { record } = await readEvidence(context, await enterCompany(context, scope, 'R'), externalId)
    const { company } = record
    const [evidence, category, subcategory] = await Promise.all([
      listFiles(context, company, record.id),
      listFiles(context, company, record.categoryId),
      listFiles(context, company, record.subcategoryId),
    ])
    return { evidence, category, subcategory }
  }
