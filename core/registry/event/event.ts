import type { RecordedEvent } from '../../api/evidence.ts'
import type { StagedFile } from '../../api/files.ts'
import type { CompanyId, EvidenceId, TxId } from '../../api/scope.ts'
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
  hashesText,
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

/** What an event is hashed from, beside its texts. */
type EventHead = Pick<EventRecord, 'version' | 'time' | 'first' | 'prev' | 'erased'>

/** An event to make. */
interface EventDraft extends EventHead, Pick<EventRecord, 'type' | 'updateType' | 'files'> {
  readonly company: CompanyId
  readonly evidenceId: EvidenceId
  /** Those that are `undefined` are left out. */
  readonly fields: Readonly<Record<string, Json | undefined>>
}

/** The random values of an event, 32 bytes each. */
export interface EventSecrets {
  /** Of all events of the evidence. */
  readonly slotKey: Uint8Array
  /** Of the salts of this event alone. A retry must draw another one, so that no salt is used twice. */
  readonly seed: Uint8Array
}

/** New random values. */
export const newSecret = (): Uint8Array => randomBytes(SALT_BYTES)

/** Makes the log entry of an event, which commits to it. */
export function makeEvent(draft: EventDraft, origin: string, { slotKey, seed }: EventSecrets): LogAppend {
  assertFieldNames(draft.fields)
  const { opening } = bindEvent(draft, saltedBy(seed, draft), origin, slotKey)
  return { entry: txIdOf(opening), payload: encodeEventPayload(opening, draft) }
}

/** The txId of an event whose log entry this is (32 bytes). */
// eslint-disable-next-line typescript/no-unsafe-type-assertion -- the hex of 32 bytes
export const txIdOfEntry = (entry: Uint8Array): TxId => toHex(entry) as TxId

/** Computes an event's opening, and the texts that it is the hash of. */
function bindEvent(
  { first, prev, version, time, erased }: EventHead,
  { fields, files, salts }: Salted,
  origin: string,
  slotKey: Uint8Array,
) {
  const fieldHashes = fields.texts.map((text, i) => fieldHashHex(saltAt(salts, 1 + i), text))
  const fileHashes = files.texts.map((text, i) => toHex(fileHash(saltAt(salts, 1 + fieldHashes.length + i), text)))
  const fieldsText = hashesText(...withErased(fields.names, fieldHashes, erased?.fields))
  const header = headerText({ fields: fieldsText, first, log: origin, prev, version })
  const filesText = hashesText(...withErased(files.names, fileHashes, erased?.files))
  const opening = openingBytes({
    slot: slotHash(slotKey, version),
    time,
    header: headerHash(header),
    files: filesHash(saltAt(salts, 0), filesText),
  })
  return { opening, header, filesText }
}

const saltAt = (salts: Uint8Array, index: number): Uint8Array =>
  salts.subarray(index * SALT_BYTES, (index + 1) * SALT_BYTES)

/** Names with their hashes, and with those of what is erased, sorted. */
function withErased(
  names: readonly string[],
  hashes: readonly string[],
  erased: Readonly<Record<string, string>> | undefined,
): readonly [names: readonly string[], hashes: readonly string[]] {
  if (erased === undefined) return [names, hashes]
  const all = { ...erased, ...Object.fromEntries(names.map((name, i) => [name, hashes[i] ?? ''])) }
  const sorted = sortedNames(all)
  return [sorted, sorted.map((name) => all[name] ?? '')]
}

/** Names of fields or ids of files in the order of UTF-16 code units, and the text of each that is hashed. */
interface Texts {
  readonly names: readonly string[]
  readonly texts: readonly string[]
}

/** What an event still has of what it commits to. */
interface Salted {
  readonly fields: Texts
  readonly files: Texts
  /** Of the files map, of the fields, of the files: 32 bytes each. */
  readonly salts: Uint8Array
}

type Contents = Pick<EventDraft, 'fields' | 'files'>

const textsOf = ({ fields, files }: Contents): Pick<Salted, 'fields' | 'files'> => ({
  fields: textsBy(fields, fieldText),
  files: textsBy(files, textOfFile),
})

const textOfFile = (_: string, file: EventFile): string =>
  'deleted' in file ? deletedFileText(file.id, file.deleted) : attachedFileText(file)

function textsBy<T>(
  values: Readonly<Record<string, T | undefined>>,
  textOf: (name: string, value: T) => string,
): Texts {
  const names: string[] = []
  const texts: string[] = []
  for (const name of sortedNames(values)) {
    const value = values[name]
    if (value === undefined) continue
    names.push(name)
    texts.push(textOf(name, value))
  }
  return { names, texts }
}

/** With the salts that SHAKE256 makes of a seed. */
function saltedBy(seed: Uint8Array, event: Contents): Salted {
  const { fields, files } = textsOf(event)
  return { fields, files, salts: shake256(seed, SALT_BYTES * (1 + fields.names.length + files.names.length)) }
}

/** With the salts that it has. Throws `CORRUPT` if the record is damaged. */
function saltedOf(event: Contents & Pick<EventRecord, 'salts'>): Salted {
  const { salts } = event
  if (typeof salts === 'string') return saltedBy(storedBase64(salts, 'A seed'), event)
  const { fields, files } = textsOf(event)
  const hex = [
    salts.filesSalt,
    ...fields.names.map((name) => saltOf(salts.fields, name)),
    ...files.names.map((id) => saltOf(salts.files, id)),
  ]
  return { fields, files, salts: concatBytes(...hex.map(bytesOf)) }
}

/**
 * The disclosure of an event: every text and salt that is not erased. Throws `CORRUPT` if the record does not hash to
 * its txId: it must not be shown as if it did.
 */
export function discloseEvent(event: EventRecord, { origin, slotKey }: EventOrigin): Disclosure {
  const salted = saltedOf(event)
  const { opening, header, filesText } = bindEvent(event, salted, origin, storedBase64(slotKey, 'A slot key'))
  assertTxId(event, opening)
  const { filesSalt, fields, files } = remainingSalts(salted)
  return {
    opening: toHex(opening),
    header,
    filesText,
    filesSalt,
    fields: disclosed(salted.fields, fields),
    files: disclosed(salted.files, files),
  }
}

/** The opening of an event, without its disclosure, which takes a third of the time. Does not compare the txId. */
export const openingOf = (event: EventRecord, { origin, slotKey }: EventOrigin): Uint8Array =>
  bindEvent(event, saltedOf(event), origin, storedBase64(slotKey, 'A slot key')).opening

/** As `openingOf`. Throws as `discloseEvent`. */
export function checkedOpeningOf(event: EventRecord, source: EventOrigin): Uint8Array {
  const opening = openingOf(event, source)
  assertTxId(event, opening)
  return opening
}

function assertTxId({ version, txId }: EventRecord, opening: Uint8Array): void {
  if (toHex(txIdOf(opening)) !== txId) throw damagedEvent(`version ${version} does not hash to its txId ${txId}`)
}

/** The texts with their salts (hex), by the name of the field or the id of the file. */
const disclosed = ({ names, texts }: Texts, salts: Readonly<Record<string, string>>): Disclosure['fields'] =>
  Object.fromEntries(names.map((name, i) => [name, { text: texts[i] ?? '', salt: saltOf(salts, name) }]))

/** The salts as they are stored once the seed is gone. */
function remainingSalts({ fields, files, salts }: Salted): RemainingSalts {
  const named = ({ names }: Texts, first: number) =>
    Object.fromEntries(names.map((name, i) => [name, toHex(saltAt(salts, first + i))]))
  return { filesSalt: toHex(saltAt(salts, 0)), fields: named(fields, 1), files: named(files, 1 + fields.names.length) }
}

/**
 * The event without one attached file: its name, hash, size and salt are removed, its commitment stays. The seed would
 * give the salt again, so it is replaced by the salts that remain. Throws `CORRUPT` if the event does not hold the
 * file.
 */
export function eraseFile(event: EventRecord, fileId: string): EventRecord {
  const salted = saltedOf(event)
  const salts = remainingSalts(salted)
  const text = salted.files.texts[salted.files.names.indexOf(fileId)]
  if (text === undefined) throw damagedEvent(`event ${event.txId} does not hold the file ${fileId}`)
  const hash = toHex(fileHash(bytesOf(saltOf(salts.files, fileId)), text))
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
  /** 32 random bytes for this event alone. Default: new ones. */
  readonly seed?: Uint8Array
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

function appendEvent(
  { origin, actor, now }: EventAuthor,
  before: EvidenceRecord,
  { type, updateType, fields, files, state, seed = newSecret() }: EventStep,
): { readonly evidence: EvidenceRecord; readonly record: EventRecord; readonly append: LogAppend } {
  const action = { type, ...(updateType !== undefined && { updateType }) }
  const { id, company, externalId, owner = '' } = state
  const draft = {
    version: before.lastVersion + 1,
    time: Math.max(now, before.lastAt),
    first: before.txId,
    prev: before.lastTxId,
    ...action,
    ownerName: owner,
    fields: { action, actor, company, evidence: id, externalId, ...fields },
    files,
  }
  const slotKey = storedBase64(before.slotKey, 'A slot key')
  // `Object.assign`, because a spread that is followed by more members takes several times as long.
  const append = makeEvent(Object.assign({ company, evidenceId: id }, draft), origin, { slotKey, seed })
  const txId = txIdOfEntry(append.entry)
  const { changes } = before
  const evidence = Object.assign({}, state, {
    txId: before.txId,
    lastVersion: draft.version,
    lastTxId: txId,
    lastAt: draft.time,
    changes: { ...changes, [type]: changes[type] + 1 },
    first: firstEventRecord(state, firstEventOf(before)),
  })
  return { evidence, record: Object.assign({ salts: toBase64(seed), txId }, draft), append }
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

type Details = { readonly [K in 'description' | 'summary' | 'owner' | 'meta']?: EvidenceRecord[K] }

/** The details that are set. An empty text means that there is none. */
export const givenDetails = ({ description, summary, owner, meta }: Details) => ({
  description: description || undefined,
  summary: summary || undefined,
  owner: owner || undefined,
  meta,
})
