import { randomBytes } from 'node:crypto'
import { concatBytes, fromHex, readU64, shake256, toHex, u64 } from '../bytes.ts'
import {
  attachedFileText,
  deletedFileText,
  fieldHash,
  fieldText,
  fileHash,
  filesHash,
  filesText,
  headerHash,
  headerText,
  OPENING_BYTES,
  openingBytes,
  SALT_BYTES,
  slotHash,
  txIdOf,
} from '../commitment.ts'
import type { Json } from '../canonical-json.ts'
import { RegistryError } from '../errors.ts'
import { keys } from '../keys.ts'
import type { Write } from '../ports.ts'
import type { StagedFile } from '../registry.ts'
import type { Disclosure } from '../schemas.ts'
import { encodeRecord, type EventFile, type EventRecord, type RemainingSalts } from './records.ts'

/** An event of an evidence's history: made, written, opened again for whoever may see it, and partly erased. */

export interface EventDraft {
  readonly origin: string
  readonly evidenceId: string
  /** 32 bytes, hex. */
  readonly slotKey: string
  readonly version: number
  readonly time: number
  readonly first: string | null
  readonly prev: string | null
  readonly type: EventRecord['type']
  readonly updateType?: string
  readonly ownerName: string
  readonly fields: Readonly<Record<string, Json>>
  readonly files: Readonly<Record<string, EventFile>>
}

export interface MadeEvent {
  readonly record: EventRecord
  readonly txId: Uint8Array
  readonly opening: Uint8Array
}

/** Draws a new seed and commits to the draft. A retry makes it again, so a salt is used once. */
export function makeEvent(draft: EventDraft): MadeEvent {
  const { origin, slotKey, evidenceId: _, ...rest } = draft
  const unhashed = { ...rest, salts: { seed: randomBytes(SALT_BYTES).toString('hex') } }
  const { opening } = openEvent(unhashed, { origin, slotKey })
  const txId = txIdOf(opening)
  return { record: { ...unhashed, txId: toHex(txId) }, txId, opening }
}

/** What an event commits to of the files it attaches. */
export const committedFiles = (staged: readonly StagedFile[]) =>
  Object.fromEntries(staged.map(({ id, mimeType, name, sha256, size }) => [id, { id, mimeType, name, sha256, size }]))

/** The writes that put an event into the store: its record, and its place by txId with the opening. */
export const eventWrites = (evidenceId: string, { record, opening }: MadeEvent): readonly Write[] => [
  { key: keys.event(evidenceId, record.version), value: encodeRecord(record) },
  { key: keys.transaction(record.txId), value: encodeTransaction({ opening, evidenceId, version: record.version }) },
]

export interface Transaction {
  readonly opening: Uint8Array
  readonly evidenceId: string
  readonly version: number
}

/** opening (120) ‖ the evidence's UUID (16) ‖ u64(version). */
const encodeTransaction = ({ opening, evidenceId, version }: Transaction): Uint8Array =>
  concatBytes(opening, fromHex(evidenceId.replaceAll('-', '')) as Uint8Array, u64(version))

export function decodeTransaction(bytes: Uint8Array): Transaction {
  const id = toHex(bytes.subarray(OPENING_BYTES, OPENING_BYTES + 16))
  return {
    opening: bytes.slice(0, OPENING_BYTES),
    evidenceId: `${id.slice(0, 8)}-${id.slice(8, 12)}-${id.slice(12, 16)}-${id.slice(16, 20)}-${id.slice(20)}`,
    version: readU64(bytes, OPENING_BYTES + 16),
  }
}

interface Whose {
  readonly origin: string
  readonly slotKey: string
}

/** Recomputes an event's opening from its record, and gives every text and salt on the way that is not erased. */
export function openEvent(
  event: Omit<EventRecord, 'txId'>,
  { origin, slotKey }: Whose,
): { readonly opening: Uint8Array; readonly disclosure: Disclosure } {
  const salts = remainingSalts(event)
  const fields: Disclosure['fields'] = {}
  const fieldHashes: Record<string, string> = { ...event.erased?.fields }
  for (const [name, value] of Object.entries(event.fields)) {
    const disclosed = { text: fieldText(name, value), salt: saltOf(salts.fields, name) }
    fields[name] = disclosed
    fieldHashes[name] = toHex(fieldHash(bytesOf(disclosed.salt), disclosed.text))
  }
  const files: Disclosure['files'] = {}
  const fileHashes: Record<string, string> = { ...event.erased?.files }
  for (const [id, file] of Object.entries(event.files)) {
    const disclosed = { text: eventFileText(file), salt: saltOf(salts.files, id) }
    files[id] = disclosed
    fileHashes[id] = toHex(fileHash(bytesOf(disclosed.salt), disclosed.text))
  }
  const header = headerText({
    fields: fieldHashes,
    first: event.first,
    log: origin,
    prev: event.prev,
    version: event.version,
  })
  const text = filesText(fileHashes)
  const opening = openingBytes({
    slot: slotHash(bytesOf(slotKey), event.version),
    time: event.time,
    header: headerHash(header),
    files: filesHash(bytesOf(salts.filesSalt), text),
  })
  return {
    opening,
    disclosure: { opening: toHex(opening), header, filesText: text, filesSalt: salts.filesSalt, fields, files },
  }
}

const eventFileText = (file: EventFile): string =>
  'deleted' in file ? deletedFileText(file.id, file.deleted) : attachedFileText(file)

/**
 * The salts of an event by what they are for. Cut from SHAKE256(seed) in this order: files map, fields by name, files by
 * id; each sorted by UTF-16 code unit.
 */
function remainingSalts({ salts, fields, files }: Pick<EventRecord, 'salts' | 'fields' | 'files'>): RemainingSalts {
  if (!('seed' in salts)) return salts
  const fieldNames = Object.keys(fields).sort()
  const fileIds = Object.keys(files).sort()
  const stream = toHex(shake256(bytesOf(salts.seed), SALT_BYTES * (1 + fieldNames.length + fileIds.length)))
  const cut = (index: number): string => stream.slice(index * SALT_BYTES * 2, (index + 1) * SALT_BYTES * 2)
  return {
    filesSalt: cut(0),
    fields: Object.fromEntries(fieldNames.map((name, i) => [name, cut(1 + i)])),
    files: Object.fromEntries(fileIds.map((id, i) => [id, cut(1 + fieldNames.length + i)])),
  }
}

/**
 * The event without one attached file: its name, hash, size and salt are gone, its commitment stays. The seed would give
 * the salt back, so the salts that remain take its place.
 */
export function eraseFile(event: EventRecord, fileId: string): EventRecord {
  const salts = remainingSalts(event)
  const file = event.files[fileId]
  if (file === undefined) throw corrupt(`event ${event.txId} does not hold the file ${fileId}`)
  const hash = toHex(fileHash(bytesOf(saltOf(salts.files, fileId)), eventFileText(file)))
  return {
    ...event,
    files: without(event.files, fileId),
    salts: { ...salts, files: without(salts.files, fileId) },
    erased: { fields: event.erased?.fields ?? {}, files: { ...event.erased?.files, [fileId]: hash } },
  }
}

function without<T>(map: Readonly<Record<string, T>>, name: string): Record<string, T> {
  const { [name]: _, ...rest } = map
  return rest
}

function saltOf(salts: Readonly<Record<string, string>>, name: string): string {
  const salt = salts[name]
  if (salt === undefined) throw corrupt(`no salt for ${name}`)
  return salt
}

function bytesOf(hex: string): Uint8Array {
  const bytes = fromHex(hex)
  if (bytes === undefined) throw corrupt('not hex')
  return bytes
}

const corrupt = (what: string): RegistryError =>
  new RegistryError('CORRUPT', `A stored event is not what it must be: ${what}`)
