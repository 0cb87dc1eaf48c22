import { toHex } from '../bytes.ts'
import { canonicalJson, type Json } from '../commitment/canonical-json.ts'
import { txIdOf, type EventFile } from '../commitment/event-format.ts'
import type { Key } from '../ports/index.ts'
import { openingOf } from '../registry/event/opening.ts'
import type { EventRecord, EvidenceRecord, DeletedFileRecord, FileRecord } from '../store/records.ts'
import type { Check } from './check.ts'
import { keys } from '../store/keys.ts'
import { readAll } from '../store/read.ts'

/** The result of the events of an evidence that were added so far. */
export interface History {
  version: number
  /** txId of version 1. */
  first: string | null
  /** txId of the last version. */
  prev: string | null
  /** ms since 1970, of the last version. */
  time: number
  createdAt: number | undefined
  readonly changes: { create: number; update: number; transfer: number }
  /** The last value of each field. */
  readonly values: Map<string, Json>
  /** Files that are attached, by id, with the version that attached each. */
  readonly attachedFiles: Map<string, number>
  /** txIds of the versions that have files, by version. */
  readonly txIds: Map<number, string>
}

export const emptyHistory = (): History => ({
  version: 0,
  first: null,
  prev: null,
  time: 0,
  createdAt: undefined,
  changes: { create: 0, update: 0, transfer: 0 },
  values: new Map(),
  attachedFiles: new Map(),
  txIds: new Map(),
})

interface StoredEvent {
  readonly key: Key
  readonly event: EventRecord
}

interface StoredOpening extends StoredEvent {
  /** `undefined` if the log's identity cannot be read: then no opening can be computed. */
  readonly origin: string | undefined
  readonly evidence: EvidenceRecord
}

/** Checks that the txId results from the values and salts. `checkLog` checks that its log entry refers to the event. */
export function checkOpening(check: Check, { key, event, origin, evidence }: StoredOpening): void {
  if (origin === undefined) return
  const opening = check.guard('event', key, () => openingOf(event, { origin, slotKey: evidence.slotKey }))
  if (opening === undefined) return
  check.expect(toHex(txIdOf(opening)) === event.txId, 'event', key, 'Its values and salts result in another txId')
}

/** The `ownerName` of an event of an evidence without an owner. */
const NO_OWNER = ''

/** Adds an event to the history, and reports it if it does not follow. `expectedKey` is the key of the next version. */
export function addEvent(check: Check, expectedKey: Key, { key, event }: StoredEvent, history: History): void {
  const expect = (holds: boolean, message: string): void => check.expect(holds, 'event', key, message)
  const isNext = key === expectedKey && event.version === history.version + 1
  expect(isNext, `Version ${history.version + 1} is expected here`)
  const follows = event.first === history.first && event.prev === history.prev
  expect(follows, 'It does not follow the previous event')
  expect(event.time >= history.time, 'It is older than the previous event')
  for (const [name, value] of Object.entries(event.fields)) history.values.set(name, value)
  expect(canonicalJson(event.fields['action']) === actionOf(event), 'Its type is not the type that it commits to')
  expect(event.ownerName === (history.values.get('owner') ?? NO_OWNER), 'Its owner is not the owner in its history')
  history.version = event.version
  history.first ??= event.txId
  history.createdAt ??= event.time
  history.prev = event.txId
  history.time = event.time
  history.changes[event.type] += 1
}

const actionOf = ({ type, updateType }: EventRecord): string =>
  canonicalJson({ type, ...(updateType !== undefined && { updateType }) })

/** One file of an event, with its record. */
interface FileOfEvent {
  readonly id: string
  readonly evidence: EvidenceRecord
  readonly event: EventRecord
  readonly history: History
  /** Its entry in the event; `undefined` if that was erased. */
  readonly inEvent: EventFile | undefined
  readonly file: FileRecord | DeletedFileRecord
}

/** Compares the files of an event with their records and with the files that were attached before. */
export async function checkEventFiles(
  check: Check,
  evidence: EvidenceRecord,
  event: EventRecord,
  history: History,
): Promise<void> {
  const ids = [...new Set([...Object.keys(event.files), ...Object.keys(event.erased?.files ?? {})])]
  if (ids.length === 0) return
  const files = await readAll(check.records, ids.map(keys.file))
  history.txIds.set(event.version, event.txId)
  for (const [i, id] of ids.entries()) {
    const file = check.decode('file', files[i])
    if (files[i] === undefined) check.report('file', keys.file(id), 'The record of this file is missing')
    if (file === undefined) continue
    const inEvent = Object.hasOwn(event.erased?.files ?? {}, id) ? undefined : event.files[id]
    check.guard('file', keys.file(id), () => checkFile(check, { id, evidence, event, history, inEvent, file }))
  }
}

function checkFile(check: Check, fileOfEvent: FileOfEvent): void {
  const { inEvent } = fileOfEvent
  if (inEvent !== undefined && 'deleted' in inEvent) checkDeletion(check, fileOfEvent, inEvent.deleted)
  else checkAttachment(check, fileOfEvent)
}

/** Checks a file that the event deletes. `deleted` is the txId of the event that attached it. */
function checkDeletion(check: Check, { id, event, history, file }: FileOfEvent, deleted: string): void {
  const attachedIn = history.attachedFiles.get(id)
  const isRight =
    attachedIn !== undefined &&
    history.txIds.get(attachedIn) === deleted &&
    'deletion' in file &&
    file.deletion.version === event.version
  check.expect(isRight, 'file', keys.file(id), `Version ${event.version} deletes it, but its record does not agree`)
  history.attachedFiles.delete(id)
  if (history.values.get('imageId') === id) history.values.delete('imageId')
}

function checkAttachment(check: Check, { id, evidence, event, history, inEvent, file }: FileOfEvent): void {
  history.attachedFiles.set(id, event.version)
  const isSame =
    inEvent === undefined
      ? isDeletedRecord(file, evidence, event)
      : isAttachedRecord(file, evidence, event) && hasContent(file, inEvent)
  check.expect(isSame, 'file', keys.file(id), `It does not agree with version ${event.version} of ${evidence.id}`)
}

const isDeletedRecord = (file: FileRecord | DeletedFileRecord, evidence: EvidenceRecord, event: EventRecord): boolean =>
  'deletion' in file &&
  file.ownerId === evidence.id &&
  file.version === event.version &&
  file.company === evidence.company

const isAttachedRecord = (
  file: FileRecord | DeletedFileRecord,
  evidence: EvidenceRecord,
  event: EventRecord,
): file is FileRecord =>
  !('deletion' in file) &&
  file.company === evidence.company &&
  file.ownerKind === 'evidence' &&
  file.ownerId === evidence.id &&
  file.version === event.version

const hasContent = ({ id, mimeType, name, sha256, size }: FileRecord, inEvent: EventFile): boolean =>
  canonicalJson({ id, mimeType, name, sha256, size }) === canonicalJson(inEvent)
