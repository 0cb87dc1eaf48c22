import type { RecordedEvent } from '../../api/evidence.ts'
import type { StagedFile } from '../../api/files.ts'
import type { TxId } from '../../api/scope.ts'
import { concatBytes, shake256, toBase64, toHex } from '../../bytes.ts'
import { sortedNames, type Json } from '../../commitment/canonical-json.ts'
import {
  assertFieldNames,
  type AttachedFile,
  attachedFileText,
  deletedFileText,
  type Disclosure,
  type EventFile,
  fieldHashHex,
  fieldText,
  fileHash,
  filesHash,
  filesText,
  headerHash,
  headerText,
  openingBytes,
  SALT_BYTES,
  slotHash,
  txIdOf,
} from '../../commitment/event-format.ts'
import { type RegistryError, corrupt } from '../../errors.ts'
import { encodeEventPayload } from '../../log/payload.ts'
import { randomBytes } from '../../platform/node.ts'
import type { Add, LogAppend, Write } from '../../ports/index.ts'
import { evidenceEntries, firstEventOf, firstEventRecord, putEvidence } from '../../store/evidence.ts'
import { keys, laterEventKey } from '../../store/keys.ts'
import { derivedWrites, putRecord, storedBase64, storedBytes } from '../../store/read.ts'
import type { EventRecord, EvidenceRecord, RemainingSalts } from '../../store/records.ts'

/** The events of a history: how they are made and appended, opened again for those who may see them, and erased. */

/** What an event commits to beside its own record. */
interface EventOrigin {
  /** The log's name. */
  readonly origin: string
  /** 32 bytes, base64. */
  readonly slotKey: string
}

type EventDraft = Omit<EventRecord, 'salts' | 'txId'>

interface MadeEvent {
  readonly record: EventRecord
  /** 32 bytes. */
  readonly txId: Uint8Array
  /** 120 bytes. */
  readonly opening: Uint8Array
}

/** A new random seed of an event's salts: 32 bytes, base64. */
export const newSeed = (): string => toBase64(randomBytes(SALT_BYTES))

/**
 * Commits to a draft with salts from a seed.
 *
 * @param seed - from `newSeed`, for this event alone. A retry must draw another one, so that no salt is used twice
 */
export function makeEvent(draft: EventDraft, source: EventOrigin, seed = newSeed()): MadeEvent {
  assertFieldNames(draft.fields)
  const { opening } = bindEvent(draft, saltsFrom(seed, draft), source)
  const txId = txIdOf(opening)
  // `Object.assign`, because a spread that is followed by more members takes several times as long.
  const record = Object.assign({}, draft, { salts: seed, txId: txIdOfEntry(txId) })
  return { record, txId, opening }
}

/** The txId of an event whose log entry this is (32 bytes). */
// eslint-disable-next-line typescript/no-unsafe-type-assertion -- the hex of 32 bytes
export const txIdOfEntry = (entry: Uint8Array): TxId => toHex(entry) as TxId

/** Recomputes an event's opening, and the texts that it is the hash of. */
function bindEvent(event: Omit<EventDraft, 'ownerName'>, salts: Salts, { origin, slotKey }: EventOrigin) {
  const { names, ids } = salts
  const fieldHashes: Record<string, string> = { ...event.erased?.fields }
  let at = 1
  for (const name of names) fieldHashes[name] = fieldHashHex(saltAt(salts, at++), textOfField(event, name))
  const fileHashes: Record<string, string> = { ...event.erased?.files }
  for (const id of ids) fileHashes[id] = toHex(fileHash(saltAt(salts, at++), textOfFile(event, id)))
  const { first, prev, version, time } = event
  const header = headerText({ fields: fieldHashes, first, log: origin, prev, version })
  const text = filesText(fileHashes)
  const opening = openingBytes({
    slot: slotHash(storedBase64(slotKey, 'A slot key'), version),
    time,
    header: headerHash(header),
    files: filesHash(saltAt(salts, 0), text),
  })
  return { opening, header, filesText: text }
}

function textOfField({ fields }: Pick<EventRecord, 'fields'>, name: string): string {
  const value = fields[name]
  if (value === undefined) throw damagedEvent(`it has no field ${name}`)
  return fieldText(name, value)
}

function textOfFile({ files }: Pick<EventRecord, 'files'>, id: string): string {
  const file = files[id]
  if (file === undefined) throw damagedEvent(`it has no file ${id}`)
  return 'deleted' in file ? deletedFileText(file.id, file.deleted) : attachedFileText(file)
}

/** An event's opening, and its disclosure: every text and salt that is not erased. */
export function openEvent(
  event: Omit<EventRecord, 'txId'>,
  source: EventOrigin,
): { readonly opening: Uint8Array; readonly disclosure: Disclosure } {
  const salts = saltsOf(event)
  const { opening, header, filesText: text } = bindEvent(event, salts, source)
  const { filesSalt, fields, files } = remainingSalts(salts)
  return {
    opening,
    disclosure: {
      opening: toHex(opening),
      header,
      filesText: text,
      filesSalt,
      fields: disclosed(fields, (name) => textOfField(event, name)),
      files: disclosed(files, (id) => textOfFile(event, id)),
    },
  }
}

/** As `openEvent`. Throws `CORRUPT` if the record does not hash to its txId: it must not be shown as if it did. */
export function openCheckedEvent(event: EventRecord, source: EventOrigin): ReturnType<typeof openEvent> {
  const opened = openEvent(event, source)
  assertTxId(event, opened.opening)
  return opened
}

/** The opening of an event, without its disclosure, which takes a third of the time. Throws as `openCheckedEvent`. */
export function checkedOpeningOf(event: EventRecord, source: EventOrigin): Uint8Array {
  const { opening } = bindEvent(event, saltsOf(event), source)
  assertTxId(event, opening)
  return opening
}

function assertTxId({ version, txId }: EventRecord, opening: Uint8Array): void {
  if (toHex(txIdOf(opening)) !== txId) throw damagedEvent(`version ${version} does not hash to its txId ${txId}`)
}

/** The texts with their salts (hex), by the name of the field or the id of the file. */
const disclosed = (salts: Readonly<Record<string, string>>, textOf: (name: string) => string): Disclosure['fields'] =>
  Object.fromEntries(Object.entries(salts).map(([name, salt]) => [name, { text: textOf(name), salt }]))

/** The salts that an event still has. */
interface Salts {
  /** Of the files map, of the fields, of the files: 32 bytes each. */
  readonly bytes: Uint8Array
  /** Names of fields, in the order of UTF-16 code units. */
  readonly names: readonly string[]
  /** Ids of files, in the same order. */
  readonly ids: readonly string[]
}

/** Whose salts an event has. */
type Salted = Pick<EventRecord, 'fields' | 'files'>

/** SHAKE256(seed) gives the salts in this order: files map, fields by name, files by id. */
function saltsFrom(seed: string, { fields, files }: Salted): Salts {
  const [names, ids] = [sortedNames(fields), sortedNames(files)]
  return { names, ids, bytes: shake256(storedBase64(seed, 'A seed'), SALT_BYTES * (1 + names.length + ids.length)) }
}

function saltsOf(event: Salted & Pick<EventRecord, 'salts'>): Salts {
  const { salts } = event
  if (typeof salts === 'string') return saltsFrom(salts, event)
  const [names, ids] = [sortedNames(event.fields), sortedNames(event.files)]
  const hex = [
    salts.filesSalt,
    ...names.map((name) => saltOf(salts.fields, name)),
    ...ids.map((id) => saltOf(salts.files, id)),
  ]
  return { names, ids, bytes: concatBytes(...hex.map(bytesOf)) }
}

const saltAt = ({ bytes }: Salts, index: number): Uint8Array =>
  bytes.subarray(index * SALT_BYTES, (index + 1) * SALT_BYTES)

/** The salts as they are stored once the seed is gone. */
function remainingSalts(salts: Salts): RemainingSalts {
  const { names, ids } = salts
  const hexAt = (index: number): string => toHex(saltAt(salts, index))
  return {
    filesSalt: hexAt(0),
    fields: Object.fromEntries(names.map((name, i) => [name, hexAt(1 + i)])),
    files: Object.fromEntries(ids.map((id, i) => [id, hexAt(1 + names.length + i)])),
  }
}

/**
 * The event without one attached file: its name, hash, size and salt are removed, its commitment stays. The seed would
 * give the salt again, so it is replaced by the salts that remain. Throws `CORRUPT` if the event does not hold the
 * file.
 */
export function eraseFile(event: EventRecord, fileId: string): EventRecord {
  const salts = remainingSalts(saltsOf(event))
  const salt = salts.files[fileId]
  if (event.files[fileId] === undefined || salt === undefined)
    throw damagedEvent(`event ${event.txId} does not hold the file ${fileId}`)
  const hash = toHex(fileHash(bytesOf(salt), textOfFile(event, fileId)))
  const remaining: RemainingSalts = { ...salts, files: without(salts.files, fileId) }
  return {
    ...event,
    files: without(event.files, fileId),
    salts: remaining,
    erased: { fields: event.erased?.fields ?? {}, files: { ...event.erased?.files, [fileId]: hash } },
  }
}

function without<T>(map: Readonly<Record<string, T>>, name: string): Record<string, T> {
  const { [name]: _, ...rest } = map
  return rest
}

function saltOf(salts: Readonly<Record<string, string>>, name: string): string {
  const salt = salts[name]
  if (salt === undefined) throw damagedEvent(`no salt for ${name}`)
  return salt
}

const bytesOf = (hex: string): Uint8Array => storedBytes(hex, 'A stored salt')

const damagedEvent = (what: string): RegistryError => corrupt(`A stored event is damaged: ${what}`)

/** An evidence's record without the members that are computed from its events. */
export type EvidenceState = Omit<EvidenceRecord, 'txId' | 'lastVersion' | 'lastTxId' | 'lastAt' | 'changes' | 'first'>

/** One event to append. */
export interface EventStep {
  readonly type: EventRecord['type']
  readonly updateType?: NonNullable<EventRecord['updateType']>
  /** What the event commits to, without the fields of every event. */
  readonly fields: Readonly<Record<string, Json>>
  /** By file id. */
  readonly files: Readonly<Record<string, EventFile>>
  /** The evidence after the event. */
  readonly state: EvidenceState
  /** From `newSeed`, for this event alone. Default: a new one. */
  readonly seed?: string
}

export interface EventAuthor {
  /** The log's name. */
  readonly origin: string
  /** Source system, or `operator`. */
  readonly actor: string
  /** ms since 1970. An event is never earlier than the one before it. */
  readonly now: number
}

/** The part of a commit that appends events, and what it records. */
interface AppendedEvents {
  /** The evidence after the last event. */
  readonly evidence: EvidenceRecord
  readonly events: readonly RecordedEvent[]
  /** The evidence's record, which contains the first event, its entries in indexes, and the later events. */
  readonly writes: readonly Write[]
  /** Counts the stolen evidences. Other counters change only with creations. */
  readonly adds: readonly Add[]
  /** The log entry of each event. */
  readonly append: readonly LogAppend[]
}

/**
 * Appends events to an evidence's history, in order.
 *
 * @param before - the evidence's record
 * @param steps - at least one
 */
export function appendEvents(
  author: EventAuthor,
  before: EvidenceRecord,
  steps: readonly [EventStep, ...EventStep[]],
): AppendedEvents {
  const [first, ...others] = steps
  let last = appendEvent(author, before, first)
  const made = [last]
  for (const step of others) made.push((last = appendEvent(author, last.evidence, step)))
  const { evidence } = last
  return {
    evidence,
    events: made.map(({ record: { type, updateType, txId, version, files } }) => ({
      type,
      ...(updateType !== undefined && { updateType }),
      txId,
      version,
      ...filesMember(Object.values(files)),
    })),
    writes: [
      putEvidence(evidence),
      ...derivedWrites(evidenceEntries(before), evidenceEntries(evidence)),
      ...made.map(({ record }) => putRecord(laterEventKey(evidence.company, evidence.id, record.version), record)),
    ],
    adds: stolenCount(before, evidence),
    append: made.map(({ append }) => append),
  }
}

function stolenCount(before: EvidenceRecord, { company, stolen }: EvidenceRecord): readonly Add[] {
  const delta = Number(stolen) - Number(before.stolen)
  return delta === 0 ? [] : [{ key: keys.evidenceCount(['stolen', company]), delta }]
}

/** Makes the first event of an evidence: the writes of its record and its entries in indexes, and its log entry. */
export function createEvent(
  author: EventAuthor,
  step: EventStep,
): { readonly writes: readonly Write[]; readonly append: LogAppend } {
  const { evidence, append } = appendEvent(author, undefined, step)
  return { writes: [putEvidence(evidence), ...evidenceEntries(evidence)], append }
}

function appendEvent(
  { origin, actor, now }: EventAuthor,
  before: EvidenceRecord | undefined,
  { type, updateType, fields, files, state, seed }: EventStep,
): { readonly evidence: EvidenceRecord; readonly record: EventRecord; readonly append: LogAppend } {
  const action = { type, ...(updateType !== undefined && { updateType }) }
  const { id, company, externalId, owner = '' } = state
  const draft = {
    version: (before?.lastVersion ?? 0) + 1,
    time: Math.max(now, before?.lastAt ?? 0),
    first: before?.txId ?? null,
    prev: before?.lastTxId ?? null,
    ...action,
    ownerName: owner,
    fields: { action, actor, company, evidence: id, externalId, ...fields },
    files,
  }
  const { record, txId, opening } = makeEvent(draft, { origin, slotKey: state.slotKey }, seed)
  const payload = encodeEventPayload({ opening, evidenceId: id, version: record.version, ...action, company })
  return { evidence: evidenceAfter(state, before, record), record, append: { entry: txId, payload } }
}

/** `Object.assign`, because a spread that is followed by more members takes several times as long. */
function evidenceAfter(state: EvidenceState, before: EvidenceRecord | undefined, event: EventRecord): EvidenceRecord {
  const { type, txId, version, time } = event
  const changes = before?.changes ?? { create: 0, update: 0, transfer: 0 }
  return Object.assign({}, state, {
    txId: before?.txId ?? txId,
    lastVersion: version,
    lastTxId: txId,
    lastAt: time,
    changes: { ...changes, [type]: changes[type] + 1 },
    first: firstEventRecord(state, before === undefined ? event : firstEventOf(before)),
  })
}

/** Whether a file can be shown as an image, by its media type. */
export const isImage = ({ mimeType }: { readonly mimeType: string }): boolean => mimeType.startsWith('image/')

/** All files of a write, the one that was given as its image first. If it is not an image, it is a file like others. */
export function givenFiles({ image: given, files = [] }: GivenFiles): {
  readonly image: StagedFile | undefined
  readonly files: readonly StagedFile[]
} {
  if (given === undefined) return { image: undefined, files }
  return { image: isImage(given) ? given : undefined, files: [given, ...files] }
}

interface GivenFiles {
  readonly image?: StagedFile | undefined
  readonly files?: readonly StagedFile[] | undefined
}

/** What an event commits to of the files that it attaches. */
export const attachedFiles = (staged: readonly StagedFile[]): Readonly<Record<string, AttachedFile>> =>
  Object.fromEntries(staged.map(({ id, mimeType, name, sha256, size }) => [id, { id, mimeType, name, sha256, size }]))

/** What a recorded event says of its files, if it has any. */
export const filesMember = (files: readonly Pick<EventFile, 'id'>[]): Pick<RecordedEvent, 'files'> =>
  files.length === 0 ? {} : { files: files.map(({ id }) => id) }

type DetailName = 'description' | 'summary' | 'owner' | 'meta'
type Details = { readonly [K in DetailName]?: NonNullable<EvidenceRecord[K]> }

/** The details that are set. An empty text means that there is none. */
export const givenDetails = ({
  description = '',
  summary = '',
  owner = '',
  meta,
}: { readonly [K in keyof Details]: Details[K] | undefined }): Details => ({
  ...(description !== '' && { description }),
  ...(summary !== '' && { summary }),
  ...(owner !== '' && { owner }),
  ...(meta !== undefined && { meta }),
})
