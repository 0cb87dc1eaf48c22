import { hash } from 'node:crypto'
import Type, { type Static } from '#typebox'
import type {
  EventPage,
  CreatedEvidence as CoreCreatedEvidence,
  Evidence as CoreEvidence,
  EvidenceFileList,
  HistoryEvent,
  HistoryPage,
  RecordedEvent as CoreRecordedEvent,
} from '../../core/index.ts'
import { hexOf } from '../../core/schemas/index.ts'
import { VERSION } from '../version.ts'
import { ErasedValue } from './erasures.ts'
import { fileEntry, type FileListing } from './files.ts'
import { closed, Count, dateTime, DateTime, Hash, Id, Meta, opt, SendStatus, Version } from './values.ts'

/** The current state of an evidence. */
export const Evidence = closed({
  id: Id,
  categoryId: Id,
  subcategoryId: Id,
  externalId: Type.String(),
  createDate: DateTime,
  name: Type.String(),
  status: Type.Enum(['active', 'stolen']),
  description: opt(Type.String()),
  imageId: opt(Id),
  summary: opt(Type.String()),
  owner: opt(Type.String()),
  txId: Hash,
  meta: opt(Meta),
  erased: opt(Type.Array(ErasedValue, { description: 'Current values that were erased' })),
})

/** The text of a field or file, and the salt with which it was hashed. */
const Disclosed = closed({ text: Type.String({ description: 'The exact text that was hashed' }), salt: Hash })
export const Disclosure = closed(
  {
    opening: Type.String({ ...hexOf(240), description: 'The 120 bytes whose SHA-256 is the txId, hex' }),
    header: Type.String(),
    filesText: Type.String(),
    filesSalt: Hash,
    fields: Type.Record(Type.String(), Disclosed),
    files: Type.Record(Type.String(), Disclosed),
  },
  {
    description:
      'What is needed to recompute the txId. What was erased is absent here, and only its hash is in the ' +
      'header or filesText',
  },
)

const eventType = {
  type: Type.Enum(['update', 'transfer', 'create']),
  updateType: opt(Type.Enum(['stolen', 'repair', 'custom', 'change', 'addfile', 'deletefile'])),
}

const batchState = {
  merkleBatchId: Type.Union([Id, Type.Null()]),
  merkleSendStatus: Type.Union([SendStatus, Type.Null()]),
}

/** One event of a history. P, S and C say how far its batch is anchored. */
export const EvidenceEvent = closed({
  timestamp: DateTime,
  personaName: opt(Type.String()),
  ownerName: Type.String(),
  ...eventType,
  eventDescription: opt(Type.String()),
  updateDescription: opt(Type.String()),
  txId: Hash,
  version: Version,
  meta: opt(Meta),
  ...batchState,
  erased: opt(Type.Array(ErasedValue, { description: 'Values and files of the event that were erased' })),
  disclosure: opt(Disclosure),
})

/** Endpoint 11: the evidence, and a page of its history. To continue, send `lastVersion` as `last`. */
export const EvidencePage = closed({
  object: Evidence,
  events: Type.Array(EvidenceEvent),
  lastVersion: Count,
  isMore: Type.Boolean(),
})

const recordedEvent = { ...eventType, txId: Hash, version: Version }

/** An event in the feed of a company. */
export const CompanyEvent = closed({
  cursor: Type.String({ description: 'Behind this event: send it as `after` to go on with the next one. Opaque' }),
  id: Type.Unsafe<string>({ ...Id, description: 'Of the evidence' }),
  externalId: opt(Type.String({ description: 'Missing only if the record of the evidence cannot be read any more' })),
  ...recordedEvent,
  timestamp: DateTime,
  ...batchState,
})

/** A page of the feed. It may have no events and still have advanced: the next page begins at `cursor` in any case. */
export const EventsPage = closed({
  events: Type.Array(CompanyEvent),
  cursor: Type.String({ description: 'Send it as `after`. Opaque' }),
  isMore: Type.Boolean({ description: 'Whether the log goes on: the next page does not wait' }),
})
export type EventsPage = Static<typeof EventsPage>

const eventFiles = opt(
  Type.Unsafe<readonly string[]>(
    Type.Array(Id, { description: 'Ids of the files that it attaches, `image` or `file` first, or deletes' }),
  ),
)

/** An event that a request has recorded. Its txId is the commitment that proofs are about. */
export const RecordedEvent = closed({ ...recordedEvent, files: eventFiles })

/** Endpoint 8: the new evidence and its first event. */
export const CreatedEvidence = closed({ id: Id, txId: Hash, version: Version, events: Type.Array(RecordedEvent) })
export type CreatedEvidence = Static<typeof CreatedEvidence>

/** Endpoint 9: the new evidences in the order of the request. */
export const CreatedEvidences = closed({
  ids: Type.Array(Id),
  count: Count,
  id: opt(Id),
  events: Type.Array(closed({ id: Id, ...recordedEvent, files: eventFiles })),
  txId: opt(Hash),
  version: opt(Version),
})
export type CreatedEvidences = Static<typeof CreatedEvidences>

/** Endpoint 12: the events that the request has recorded, none if nothing changed. */
export const UpdatedEvidence = closed({ status: Type.Literal('ok'), events: Type.Array(RecordedEvent) })
export type UpdatedEvidence = Static<typeof UpdatedEvidence>

// -- translation

/**
 * An `EvidencePage` as JSON: what `JSON.stringify` makes of it, in less time. Only members that may need an escape are
 * encoded by `JSON.stringify`.
 */
export const evidencePage = ({ evidence, events, lastVersion, hasMore }: HistoryPage): string =>
  `{"object":${evidenceText(evidence)},"events":[${events.map(eventText).join(',')}],` +
  `"lastVersion":${lastVersion},"isMore":${hasMore}}`

/**
 * The ETag of `evidencePage`: the version, and a hash of all else on which the text depends. The last txId commits to
 * what the events say, but neither to their batches nor to what was erased since.
 */
export function evidencePageTag({ evidence, events, lastVersion }: HistoryPage, release = VERSION): string {
  const { version, lastTxId, image, erased } = evidence
  const parts = [release, lastTxId, image?.id, lastVersion, events.length, erased?.length]
  for (const event of events) {
    const { batch, disclosure } = event
    parts.push(batch?.id, batch?.sendStatus, textCount(disclosure), event.erased?.length)
  }
  return `"${version}-${hash('sha256', parts.join(), 'hex').slice(0, 16)}"`
}

/** How many texts are disclosed: one less after each erasure. */
const textCount = (disclosure: HistoryEvent['disclosure']): number | undefined =>
  disclosure && Object.keys(disclosure.fields).length + Object.keys(disclosure.files).length

const evidenceText = (from: CoreEvidence): string =>
  `{"id":"${from.id}","categoryId":"${from.categoryId}","subcategoryId":"${from.subcategoryId}",` +
  `"externalId":${JSON.stringify(from.externalId)},"createDate":"${dateTime(from.createdAt)}",` +
  `"name":${JSON.stringify(from.name)},"status":"${from.status}"` +
  member('description', from.description) +
  member('imageId', from.image?.id) +
  member('summary', from.summary) +
  member('owner', from.owner) +
  `,"txId":"${from.txId}"${member('meta', from.meta)}${member('erased', from.erased)}}`

/** An `EvidenceEvent` as JSON. Most of a page is events, so they decide how fast it is made. */
function eventText(from: HistoryEvent): string {
  const { batch } = from
  return (
    `{"timestamp":"${dateTime(from.recordedAt)}"${member('personaName', from.persona)},` +
    `"ownerName":${JSON.stringify(from.owner)},"type":"${from.type}"` +
    member('updateType', from.updateType) +
    member('eventDescription', from.eventDescription) +
    member('updateDescription', from.updateDescription) +
    `,"txId":"${from.txId}","version":${from.version}${member('meta', from.meta)}` +
    (batch === null
      ? ',"merkleBatchId":null,"merkleSendStatus":null'
      : `,"merkleBatchId":"${batch.id}","merkleSendStatus":"${batch.sendStatus}"`) +
    `${member('erased', from.erased)}${member('disclosure', from.disclosure)}}`
  )
}

/** A member of a JSON object after other members; the empty text if it is not set. */
export const member = (name: string, value: unknown): string =>
  value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`

/** The state of the batches is that of when the page was read. */
export const eventsPage = ({ events, cursor, hasMore }: EventPage): EventsPage => ({
  events: events.map(({ evidenceId, recordedAt, batch, ...event }) => ({
    ...event,
    id: evidenceId,
    timestamp: recordedAt,
    merkleBatchId: batch?.id ?? null,
    merkleSendStatus: batch?.sendStatus ?? null,
  })),
  cursor,
  isMore: hasMore,
})

/** Endpoint 8 shows the txId and version of its one event also at the top. */
export const createdEvidence = ({ id, ...event }: CoreCreatedEvidence): CreatedEvidence => ({
  id,
  txId: event.txId,
  version: event.version,
  events: [event],
})

/** Endpoint 9 shows a single evidence and its event also at the top. */
export function createdEvidences(created: readonly CoreCreatedEvidence[], isBulk: boolean): CreatedEvidences {
  const [first] = created
  const isSingle = created.length === 1 && first !== undefined
  return {
    ids: created.map(({ id }) => id),
    count: created.length,
    ...(isSingle && { id: first.id }),
    events: [...created],
    ...(isSingle && !isBulk && { txId: first.txId, version: first.version }),
  }
}

/** Up to three events: of the content, of the owner, and of the files. */
export const updatedEvidence = (events: readonly CoreRecordedEvent[]): UpdatedEvidence => ({
  status: 'ok',
  events: [...events],
})

/** An evidence shows also the files of its category and its subcategory. */
export const evidenceFiles = ({ evidence: dt, category, subcategory }: EvidenceFileList): FileListing => ({
  dt: dt.map(fileEntry),
  category: category.map(fileEntry),
  subcategory: subcategory.map(fileEntry),
})
