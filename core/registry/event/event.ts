import { concatBytes, fromHex, readU64, shake256, toHex, u64 } from '../../bytes.ts'
import {
  attachedFileText,
  deletedFileText,
  fieldHashHex,
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
} from '../../commitment/event-format.ts'
import type { Json } from '../../commitment/canonical-json.ts'
import { RegistryError } from '../../errors.ts'
import { keys } from '../../store/keys.ts'
import type { Write } from '../../ports.ts'
import { randomBytes } from '../../random.ts'
import { encodeRecord } from '../../store/record-codec.ts'
import type { StagedFile } from '../../api/registry.ts'
import type { Disclosure } from '../schemas.ts'
import type { EventFile, EventRecord, RemainingSalts } from '../../store/records.ts'

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
  const unhashed = { ...rest, salts: { seed: toHex(randomBytes(SALT_BYTES)) } }
  const { opening } = bindEvent(unhashed, { origin, slotKey })
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

/** A text that is hashed under its salt, by the name of its field or the id of its file. */
interface Salted {
  readonly name: string
  readonly text: string
  readonly salt: Uint8Array
}

/** Recomputes an event's opening from its record, with every text and salt on the way that is not erased. */
function bindEvent(event: Omit<EventRecord, 'txId'>, { origin, slotKey }: Whose) {
  const salts = saltsOf(event)
  const fields: Salted[] = []
  const fieldHashes: Record<string, string> = { ...event.erased?.fields }
  for (const [name, salt] of salts.fields) {
    const text = fieldText(name, event.fields[name] as Json)
    fields.push({ name, text, salt })
    fieldHashes[name] = fieldHashHex(salt, text)
  }
  const files: Salted[] = []
  const fileHashes: Record<string, string> = { ...event.erased?.files }
  for (const [name, salt] of salts.files) {
    const text = eventFileText(event.files[name] as EventFile)
    files.push({ name, text, salt })
    fileHashes[name] = toHex(fileHash(salt, text))
  }
  const { first, prev, version, time } = event
  const header = headerText({ fields: fieldHashes, first, log: origin, prev, version })
  const text = filesText(fileHashes)
  const opening = openingBytes({
    slot: slotHash(bytesOf(slotKey), version),
    time,
    header: headerHash(header),
    files: filesHash(salts.filesSalt, text),
  })
  return { opening, header, fields, files, filesText: text, filesSalt: salts.filesSalt }
}

/** An event's opening, and what may be disclosed of it: every text and salt that is not erased. */
export function openEvent(
  event: Omit<EventRecord, 'txId'>,
  whose: Whose,
): { readonly opening: Uint8Array; readonly disclosure: Disclosure } {
  const { opening, header, fields, files, filesText: text, filesSalt } = bindEvent(event, whose)
  return {
    opening,
    disclosure: {
      opening: toHex(opening),
      header,
      filesText: text,
      filesSalt: toHex(filesSalt),
      fields: disclosed(fields),
      files: disclosed(files),
    },
  }
}

const disclosed = (salted: readonly Salted[]): Disclosure['fields'] =>
  Object.fromEntries(salted.map(({ name, text, salt }) => [name, { text, salt: toHex(salt) }]))

const eventFileText = (file: EventFile): string =>
  'deleted' in file ? deletedFileText(file.id, file.deleted) : attachedFileText(file)

/** The salts of what an event still holds: names and ids in the order of UTF-16 code units. */
interface Salts {
  readonly filesSalt: Uint8Array
  readonly fields: readonly (readonly [name: string, salt: Uint8Array])[]
  readonly files: readonly (readonly [id: string, salt: Uint8Array])[]
}

/** Where there is a seed they are cut from SHAKE256(seed) in this order: files map, fields by name, files by id. */
function saltsOf({ salts, fields, files }: Pick<EventRecord, 'salts' | 'fields' | 'files'>): Salts {
  const names = Object.keys(fields).sort()
  const ids = Object.keys(files).sort()
  if (!('seed' in salts))
    return {
      filesSalt: bytesOf(salts.filesSalt),
      fields: names.map((name) => [name, bytesOf(saltOf(salts.fields, name))]),
      files: ids.map((id) => [id, bytesOf(saltOf(salts.files, id))]),
    }
  const stream = shake256(bytesOf(salts.seed), SALT_BYTES * (1 + names.length + ids.length))
  const cut = (index: number): Uint8Array => stream.subarray(index * SALT_BYTES, (index + 1) * SALT_BYTES)
  return {
    filesSalt: cut(0),
    fields: names.map((name, i) => [name, cut(1 + i)]),
    files: ids.map((id, i) => [id, cut(1 + names.length + i)]),
  }
}

/**
 * The event without one attached file: its name, hash, size and salt are gone, its commitment stays. The seed would give
 * the salt back, so the salts that remain take its place.
 */
export function eraseFile(event: EventRecord, fileId: string): EventRecord {
  const { filesSalt, fields, files } = saltsOf(event)
  const file = event.files[fileId]
  const salt = files.find(([id]) => id === fileId)?.[1]
  if (file === undefined || salt === undefined) throw corrupt(`event ${event.txId} does not hold the file ${fileId}`)
  const hash = toHex(fileHash(salt, eventFileText(file)))
  const remaining: RemainingSalts = {
    filesSalt: toHex(filesSalt),
    fields: hexOf(fields),
    files: hexOf(files.filter(([id]) => id !== fileId)),
  }
  return {
    ...event,
    files: without(event.files, fileId),
    salts: remaining,
    erased: { fields: event.erased?.fields ?? {}, files: { ...event.erased?.files, [fileId]: hash } },
  }
}

const hexOf = (salts: Salts['fields']): Record<string, string> =>
  Object.fromEntries(salts.map(([name, salt]) => [name, toHex(salt)]))

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
