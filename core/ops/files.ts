import { canonicalJson } from '../commitment/canonical-json.ts'
import { keys } from '../store/keys.ts'
import type { EventFile } from '../commitment/event-format.ts'
import type { DeletedFileRecord, EventRecord, EvidenceRecord, FileRecord } from '../store/records.ts'
import type { Check } from './check.ts'
import type { History } from './history.ts'

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
  const files = await check.records.get(ids.map(keys.file))
  history.txIds.set(event.version, event.txId)
  for (const [i, id] of ids.entries()) {
    const file = check.decode<FileRecord | DeletedFileRecord>('file', files[i])
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
