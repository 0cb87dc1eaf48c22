import { concatBytes, fromHex, shake256, toHex } from '../../bytes.ts'
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
  type EventFile,
  type Disclosure,
} from '../../commitment/event-format.ts'
import { sortedNames, type Json } from '../../commitment/canonical-json.ts'
import { RegistryError, corrupt } from '../../errors.ts'
import type { TxId } from '../../api/scope.ts'
import { randomBytes } from '../../platform/node.ts'
import type { EventRecord, RemainingSalts } from '../../store/records.ts'
import type { EntryStatus, LogReader } from '../../log/reader.ts'

/** One event of a history: how it is made, opened again for those who may see it, and partly erased. */

/** What an event commits to beside its own record. */
interface EventOrigin {
  /** The log's name. */
  readonly origin: string
  /** 32 bytes, hex. */
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

/** A new random seed of an event's salts: 32 bytes, hex. */
export const newSeed = (): string => toHex(randomBytes(SALT_BYTES))

/**
 * Commits to a draft with salts from a seed.
 *
 * @param seed - from `newSeed`, for this event alone. A retry must draw another one, so that no salt is used twice
 */
export function makeEvent(draft: EventDraft, source: EventOrigin, seed = newSeed()): MadeEvent {
  assertFieldNames(draft.fields)
  const { opening } = bindEvent(draft, saltsFrom(bytesOf(seed), draft), source)
  const txId = txIdOf(opening)
  // `Object.assign`, because a spread that is followed by more members takes several times as long.
  const record = Object.assign({}, draft, { salts: { seed }, txId: toHex(txId) as TxId })
  return { record, txId, opening }
}

/** Recomputes an event's opening, and the texts that it is the hash of. */
function bindEvent(event: Omit<EventDraft, 'ownerName'>, salts: Salts, { origin, slotKey }: EventOrigin) {
  const { names, ids } = salts
  const fieldHashes: Record<string, string> = { ...event.erased?.fields }
  for (let i = 0; i < names.length; i++) {
    const name = names[i] ?? ''
    fieldHashes[name] = fieldHashHex(saltAt(salts, 1 + i), textOfField(event, name))
  }
  const fileHashes: Record<string, string> = { ...event.erased?.files }
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i] ?? ''
    fileHashes[id] = toHex(fileHash(saltAt(salts, 1 + names.length + i), textOfFile(event, id)))
  }
  const { first, prev, version, time } = event
  const header = headerText({ fields: fieldHashes, first, log: origin, prev, version })
  const text = filesText(fileHashes)
  const opening = openingBytes({
    slot: slotHash(bytesOf(slotKey), version),
    time,
    header: headerHash(header),
    files: filesHash(saltAt(salts, 0), text),
  })
  return { opening, header, filesText: text }
}

const textOfField = ({ fields }: Pick<EventRecord, 'fields'>, name: string): string =>
  fieldText(name, fields[name] as Json)

function textOfFile({ files }: Pick<EventRecord, 'files'>, id: string): string {
  const file = files[id] as EventFile
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
function saltsFrom(seed: Uint8Array, { fields, files }: Salted): Salts {
  const [names, ids] = [sortedNames(fields), sortedNames(files)]
  return { names, ids, bytes: shake256(seed, SALT_BYTES * (1 + names.length + ids.length)) }
}

function saltsOf(event: Salted & Pick<EventRecord, 'salts'>): Salts {
  const { salts } = event
  if ('seed' in salts) return saltsFrom(bytesOf(salts.seed), event)
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

function bytesOf(hex: string): Uint8Array {
  const bytes = fromHex(hex)
  if (bytes === undefined) throw damagedEvent('a salt, seed or slot key is not hex')
  return bytes
}

const damagedEvent = (what: string): RegistryError => corrupt(`A stored event is damaged: ${what}`)

/** The 32 bytes of a stored txId: the log entry of its event. */
export function entryOfTxId(txId: TxId): Uint8Array {
  const entry = fromHex(txId)
  if (entry === undefined) throw corrupt(`A stored txId is not hex: ${txId}`)
  return entry
}

/**
 * The status of stored events in the log. The commit that stores an event also appends it to the log. So one that is
 * not found there is not waiting for a batch: the store has lost its position. Throws `CORRUPT` then.
 */
export async function logStatusesOf(log: LogReader, txIds: readonly TxId[]): Promise<readonly EntryStatus[]> {
  const statuses = await log.entryStatuses(txIds.map(entryOfTxId))
  return statuses.map((status, i) => {
    if (status === undefined)
      throw new RegistryError('CORRUPT', `The stored event ${txIds[i]} is not in the log: run fsck`)
    return status
  })
}
