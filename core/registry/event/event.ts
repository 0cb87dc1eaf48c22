import { fromHex, shake256, toHex } from '../../bytes.ts'
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
  assertFieldNames,
  openingBytes,
  SALT_BYTES,
  slotHash,
  txIdOf,
} from '../../commitment/event-format.ts'
import type { Json } from '../../commitment/canonical-json.ts'
import { RegistryError } from '../../errors.ts'
import type { TxId } from '../../api/ids.ts'
import type { Disclosure } from '../../commitment/disclosure.ts'
import { randomBytes } from '../../random.ts'
import type { EventFile, EventRecord, RemainingSalts } from '../../store/records.ts'

/** One event of a history: how it is made, opened again for those who may see it, and partly erased. */

interface EventDraft {
  /** The log's name. */
  readonly origin: string
  /** 32 bytes, hex. */
  readonly slotKey: string
  readonly version: number
  /** ms since 1970. */
  readonly time: number
  /** txId of version 1, `null` in version 1. */
  readonly first: string | null
  /** txId of the version before, `null` in version 1. */
  readonly prev: string | null
  readonly type: EventRecord['type']
  readonly updateType?: NonNullable<EventRecord['updateType']>
  readonly ownerName: string
  readonly fields: Readonly<Record<string, Json>>
  readonly files: Readonly<Record<string, EventFile>>
}

interface MadeEvent {
  readonly record: EventRecord
  /** 32 bytes. */
  readonly txId: Uint8Array
  /** 120 bytes. */
  readonly opening: Uint8Array
}

/** Commits to a draft with salts from a new random seed. A retry calls this again, so that no salt is used twice. */
export function makeEvent(draft: EventDraft): MadeEvent {
  const { origin, slotKey, ...rest } = draft
  assertFieldNames(rest.fields)
  const unhashed = { ...rest, salts: { seed: toHex(randomBytes(SALT_BYTES)) } }
  const { opening } = bindEvent(unhashed, { origin, slotKey })
  const txId = txIdOf(opening)
  return { record: { ...unhashed, txId: toHex(txId) as TxId }, txId, opening }
}

/** What an event commits to beside its own record. */
interface EventOrigin {
  readonly origin: string
  readonly slotKey: string
}

/** A text with the salt it is hashed with. `name`: the name of its field, or the id of its file. */
interface Salted {
  readonly name: string
  readonly text: string
  readonly salt: Uint8Array
}

/** Recomputes an event's opening from its record, and every text and salt that is not erased. */
function bindEvent(event: Omit<EventRecord, 'txId'>, { origin, slotKey }: EventOrigin) {
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

/** An event's opening, and its disclosure: every text and salt that is not erased. */
export function openEvent(
  event: Omit<EventRecord, 'txId'>,
  source: EventOrigin,
): { readonly opening: Uint8Array; readonly disclosure: Disclosure } {
  const { opening, header, fields, files, filesText: text, filesSalt } = bindEvent(event, source)
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

/** The salts that an event still has. Names and ids are in the order of UTF-16 code units. */
interface Salts {
  readonly filesSalt: Uint8Array
  readonly fields: readonly (readonly [name: string, salt: Uint8Array])[]
  readonly files: readonly (readonly [id: string, salt: Uint8Array])[]
}

/** If the event has a seed, SHAKE256(seed) gives the salts in this order: files map, fields by name, files by id. */
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
 * The event without one attached file: its name, hash, size and salt are removed, its commitment stays. The seed would
 * give the salt again, so it is replaced by the salts that remain. Throws `CORRUPT` if the event does not hold the
 * file.
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
  if (bytes === undefined) throw corrupt('a salt is not hex')
  return bytes
}

const corrupt = (what: string): RegistryError =>
  new RegistryError('CORRUPT', `A stored event is damaged: ${what}. Restore the store from a backup`)
