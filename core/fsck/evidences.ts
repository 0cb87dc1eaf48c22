import { equalBytes, fromHex, toHex } from '../bytes.ts'
import { canonicalJson, type Json } from '../commitment/canonical-json.ts'
import { txIdOf } from '../commitment/event-format.ts'
import { keys } from '../store/keys.ts'
import type { Entry } from '../ports.ts'
import { decodeTransaction, openEvent } from '../registry/event/event.ts'
import type { DeletedFileRecord, EventFile, EventRecord, EvidenceRecord, FileRecord } from '../store/records.ts'
import type { Check } from './check.ts'
import { partsOfKey } from '../store/key.ts'
import { EventWalk } from './event-walk.ts'

/**
 * Walks evidences and their events side by side, both in the order of the evidence's id. Each event's txId is derived again from its values and
 * salts; each evidence's record must be what its history comes to.
 */
export async function checkEvidences(check: Check, origin: string): Promise<void> {
  const events = new EventWalk(check)
  for await (const page of check.pages(keys.evidences())) {
    for (const entry of page) {
      const [, id = ''] = partsOfKey(entry.key)
      await events.skipTo(id)
      const record = check.decode<EvidenceRecord>('evidence', entry)
      if (record === undefined) continue
      check.expect(record.id === id, 'evidence', entry.key, 'It is stored under another id')
      await checkHistory(check, origin, record, events.of(id))
    }
  }
  await events.skipTo(undefined)
}

/** What a history comes to, event by event. */
interface Replayed {
  version: number
  first: string | null
  prev: string | null
  time: number
  createdAt: number | undefined
  readonly changes: { create: number; update: number; transfer: number }
  /** The last value of each field that the evidence's record keeps. */
  readonly values: Map<string, Json>
  /** Files that are attached now, by id: the version that attached each. */
  readonly files: Map<string, number>
  readonly txIds: string[]
}

async function checkHistory(
  check: Check,
  origin: string,
  record: EvidenceRecord,
  pages: AsyncIterable<readonly Entry[]>,
): Promise<void> {
  const state: Replayed = {
    version: 0,
    first: null,
    prev: null,
    time: 0,
    createdAt: undefined,
    changes: { create: 0, update: 0, transfer: 0 },
    values: new Map(),
    files: new Map(),
    txIds: [],
  }
  for await (const page of pages) {
    const events = page.map((entry) => check.decode<EventRecord>('event', entry))
    const txIds = events.map((event) => event?.txId ?? '')
    const [transactions, positions] = await Promise.all([
      check.records.get(txIds.map(keys.transaction)),
      check.records.positionsOf(
        txIds.map((txId) => fromHex(txId.padStart(64, '0').slice(0, 64)) ?? new Uint8Array(32)),
      ),
    ])
    for (const [i, entry] of page.entries()) {
      const event = events[i]
      if (event === undefined) continue
      check.expect(positions[i] !== undefined, 'event', entry.key, 'Its txId is not in the log')
      await checkEvent(check, { origin, record, entry, event, transaction: transactions[i] })
      await checkFiles(check, record, event, state)
      check.guard('event', entry.key, () =>
        follow(check, keys.event(record.id, state.version + 1), entry.key, event, state),
      )
    }
    check.progress('evidences', page.length)
  }
  check.guard('evidence', keys.evidence(record.id), () => compareRecord(check, record, state))
  await checkIndexes(check, record)
}

interface StoredEvent {
  readonly origin: string
  readonly record: EvidenceRecord
  readonly entry: Entry
  readonly event: EventRecord
  readonly transaction: Entry | undefined
}

/** The txId is that of the values and salts, and leads back here. */
async function checkEvent(check: Check, { origin, record, entry, event, transaction }: StoredEvent): Promise<void> {
  const { key } = entry
  const opening = check.guard('event', key, () => openEvent(event, { origin, slotKey: record.slotKey }).opening)
  if (opening === undefined) return
  check.expect(toHex(txIdOf(opening)) === event.txId, 'event', key, 'Its values and salts make another txId')
  if (transaction === undefined)
    return check.differ('index', keys.transaction(event.txId), `The record of ${key} is missing`)
  check.guard('index', transaction.key, () => {
    const { opening: stored, evidenceId, version } = decodeTransaction(transaction.value)
    const same = equalBytes(stored, opening) && evidenceId === record.id && version === event.version
    check.expect(same, 'index', transaction.key, `It does not lead to ${key}`)
  })
}

/** Takes one event into the state, and names where it does not follow. `expected`: the key of the next version. */
function follow(check: Check, expected: string, key: string, event: EventRecord, state: Replayed): void {
  const inPlace = key === expected && event.version === state.version + 1
  check.expect(inPlace, 'event', key, `Version ${state.version + 1} must stand here`)
  const follows = event.first === state.first && event.prev === state.prev
  check.expect(follows, 'event', key, 'It does not follow the event before')
  check.expect(event.time >= state.time, 'event', key, 'It is older than the event before')
  for (const [name, value] of Object.entries(event.fields)) state.values.set(name, value)
  const { type, updateType } = event
  const action = canonicalJson({ type, ...(updateType !== undefined && { updateType }) })
  check.expect(
    canonicalJson(event.fields['action']) === action,
    'event',
    key,
    'It is of another type than it commits to',
  )
  const owner = state.values.get('owner') ?? ''
  check.expect(event.ownerName === owner, 'event', key, 'It names another owner than its history')
  state.version = event.version
  state.first ??= event.txId
  state.createdAt ??= event.time
  state.prev = event.txId
  state.time = event.time
  state.changes[event.type] += 1
}

/** Files in the event against their records, and against what was attached before. */
async function checkFiles(check: Check, record: EvidenceRecord, event: EventRecord, state: Replayed): Promise<void> {
  const stored: Record<string, EventFile | undefined> = { ...event.files }
  for (const id of Object.keys(event.erased?.files ?? {})) stored[id] = undefined
  const ids = Object.keys(stored)
  if (ids.length === 0) return
  const [files, owned] = await Promise.all([
    check.records.get(ids.map(keys.file)),
    check.records.get(ids.map((id) => keys.fileOf(record.id, id))),
  ])
  state.txIds[event.version] = event.txId
  for (const [i, id] of ids.entries()) {
    const entry = files[i]
    const file = check.decode<FileRecord | DeletedFileRecord>('file', entry)
    if (file === undefined) {
      if (entry === undefined) check.differ('file', keys.file(id), 'The record of this file is missing')
      continue
    }
    const inEvent = stored[id]
    if (inEvent !== undefined && 'deleted' in inEvent)
      deleteFile(check, { id, event, state, file, deleted: inEvent.deleted })
    else {
      state.files.set(id, event.version)
      const same = inEvent === undefined ? isTombstone(file, record, event) : isAttached(file, inEvent, record, event)
      check.expect(same, 'file', keys.file(id), `It is not what version ${event.version} of ${record.id} says`)
      check.expect(
        (owned[i] !== undefined) === (inEvent !== undefined),
        'index',
        keys.fileOf(record.id, id),
        'A file’s listing and its event differ',
      )
    }
  }
}

interface Deletion {
  readonly id: string
  readonly event: EventRecord
  readonly state: Replayed
  readonly file: FileRecord | DeletedFileRecord
  readonly deleted: string
}

function deleteFile(check: Check, { id, event, state, file, deleted }: Deletion): void {
  const attachedIn = state.files.get(id)
  const holds =
    attachedIn !== undefined &&
    state.txIds[attachedIn] === deleted &&
    'deletion' in file &&
    file.deletion.version === event.version
  check.expect(holds, 'file', keys.file(id), `Version ${event.version} deletes it, its record says otherwise`)
  state.files.delete(id)
  if (state.values.get('imageId') === id) state.values.delete('imageId')
}

function isAttached(
  file: FileRecord | DeletedFileRecord,
  inEvent: EventFile,
  record: EvidenceRecord,
  event: EventRecord,
): boolean {
  if ('deletion' in file || 'deleted' in inEvent) return false
  const { id, mimeType, name, sha256, size, company, ownerKind, ownerId, version } = file
  return (
    canonicalJson({ id, mimeType, name, sha256, size }) === canonicalJson(inEvent) &&
    company === record.company &&
    ownerKind === 'evidence' &&
    ownerId === record.id &&
    version === event.version
  )
}

const isTombstone = (file: FileRecord | DeletedFileRecord, record: EvidenceRecord, event: EventRecord): boolean =>
  'deletion' in file && file.ownerId === record.id && file.version === event.version && file.company === record.company

/** The evidence's record is what its history comes to. */
function compareRecord(check: Check, record: EvidenceRecord, state: Replayed): void {
  const { values } = state
  const given = (name: string): Json | undefined => {
    const value = values.get(name)
    const isEmpty = value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
    return isEmpty ? undefined : value
  }
  const expected: Record<string, unknown> = {
    id: values.get('evidence'),
    company: values.get('company'),
    externalId: values.get('externalId'),
    categoryId: values.get('categoryId'),
    subcategoryId: values.get('subcategoryId'),
    name: values.get('name'),
    stolen: values.get('status') === 'stolen',
    description: given('description'),
    summary: given('summary'),
    owner: given('owner'),
    meta: given('meta'),
    imageId: values.get('imageId'),
    createdAt: state.createdAt,
    txId: state.first,
    lastVersion: state.version,
    lastTxId: state.prev,
    lastAt: state.time,
    changes: state.changes,
    slotKey: values.get('slotKey'),
    fileCount: state.files.size,
  }
  const found: Record<string, unknown> = { ...record, imageId: record.image?.id }
  for (const [name, value] of Object.entries(expected))
    check.expect(
      (value === undefined && found[name] === undefined) ||
        (value !== undefined && found[name] !== undefined && canonicalJson(found[name]) === canonicalJson(value)),
      'evidence',
      keys.evidence(record.id),
      `Its ${name} is not what its history says`,
    )
}

/** What must lead to the evidence. */
async function checkIndexes(
  check: Check,
  { id, company, externalId, categoryId, subcategoryId }: EvidenceRecord,
): Promise<void> {
  const nameKey = keys.externalId(externalId, company)
  const listed = [
    keys.evidenceIn('company', company, id),
    keys.evidenceIn('category', categoryId, id),
    keys.evidenceIn('subcategory', subcategoryId, id),
  ]
  const [name, ...entries] = await check.records.get([nameKey, ...listed])
  const named = check.decode<{ readonly id: string }>('index', name)
  check.expect(named?.id === id, 'index', nameKey, `It does not lead to the evidence ${id}`)
  for (const [i, key] of listed.entries())
    check.expect(entries[i] !== undefined, 'index', key, 'The evidence is missing in this listing')
}
