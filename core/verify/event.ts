import { equalBytes, toHex } from '../bytes.ts'
import type { Json } from '../commitment/canonical-json.ts'
import {
  fieldHash,
  fileHash,
  filesHash,
  headerHash,
  parseOpening,
  slotHash,
  txIdOf,
  type AttachedFile,
  type Opening,
} from '../commitment/event-format.ts'
import type { DeletedFile } from '../store/records.ts'
import { assertMembers, bytesOf, countOf, hashOf, jsonOf, membersOf, refuse, textOf } from './untrusted.ts'

/** What an event proves once its disclosure leads to its txId. */
export interface VerifiedEvent {
  /** Hex. */
  readonly txId: string
  /** ms since 1970, by the registry's clock. */
  readonly time: number
  /** Hex. */
  readonly slot: string
  /** The log's origin. */
  readonly log: string
  readonly version: number
  /** txIds (hex) of version 1 and of the version before; both null in version 1. */
  readonly first: string | null
  readonly prev: string | null
  readonly fields: ReadonlyMap<string, Json>
  /** Names of fields that the event sets and that were not disclosed: erased, or withheld. */
  readonly erasedFields: readonly string[]
  /** By file id. */
  readonly files: ReadonlyMap<string, AttachedFile | DeletedFile>
  /** Ids of files likewise. */
  readonly erasedFiles: readonly string[]
}

export interface VerifyEventOptions {
  /** Hex. It must come from elsewhere than the disclosure: a receipt, a proof. */
  readonly txId: string
  /** The log's origin that the header must name. Default: any. */
  readonly origin?: string
}

/**
 * Recomputes field, file, files, header and opening from the exact texts of a disclosure (`core/commitment/event-format.ts`), up to the txId. Texts are
 * hashed as they came and then parsed, never canonicalised. Throws `VERIFICATION_FAILED` with the first thing that does not hold.
 */
export function verifyEvent(disclosure: unknown, { txId, origin }: VerifyEventOptions): VerifiedEvent {
  const disclosed = membersOf(disclosure, 'The disclosure')
  const opening = openOpening(disclosed['opening'], txId)
  const header = openHeader(disclosed['header'], opening, origin)
  const fileHashes = openFilesMap(disclosed['filesText'], disclosed['filesSalt'], opening)
  const fields = openEach(disclosed['fields'], header.fields, 'field', fieldHash, parseField)
  const files = openEach(disclosed['files'], fileHashes, 'file', fileHash, parseFileText)
  const event: VerifiedEvent = {
    txId,
    time: opening.time,
    slot: toHex(opening.slot),
    log: header.log,
    version: header.version,
    first: header.first,
    prev: header.prev,
    fields,
    erasedFields: [...header.fields.keys()].filter((name) => !fields.has(name)),
    files,
    erasedFiles: [...fileHashes.keys()].filter((id) => !files.has(id)),
  }
  const slotKey = fields.get('slotKey')
  if (slotKey !== undefined) assertSlot(event, hashOf(slotKey, 'The slot key'))
  return event
}

/** Throws unless the event's slot is that of its version under this key. */
export function assertSlot({ slot, version }: VerifiedEvent, slotKey: Uint8Array): void {
  if (toHex(slotHash(slotKey, version)) !== slot)
    throw refuse(`The slot of version ${version} is not that of the history's slot key`)
}

/** An event's opening (hex) whose hash is this txId (hex), taken apart. Throws `VERIFICATION_FAILED`. */
export function openOpening(opening: unknown, txId: unknown): Opening {
  const bytes = bytesOf(opening, 'The opening')
  if (!equalBytes(txIdOf(bytes), hashOf(txId, 'The txId'))) throw refuse('The opening does not hash to the txId')
  const parsed = parseOpening(bytes)
  if (parsed === undefined) throw refuse('The opening is not that of an event')
  return parsed
}

interface OpenedHeader {
  readonly fields: ReadonlyMap<string, Uint8Array>
  readonly first: string | null
  readonly log: string
  readonly prev: string | null
  readonly version: number
}

function openHeader(text: unknown, opening: Opening, origin: string | undefined): OpenedHeader {
  const exact = textOf(text, 'The header')
  if (!equalBytes(headerHash(exact), opening.header)) throw refuse('The header does not hash to that of the opening')
  const header = membersOf(jsonOf(exact, 'The header'), 'The header')
  assertMembers(header, ['fields', 'first', 'log', 'prev', 'v', 'version'], 'The header')
  const version = countOf(header['version'], 'The version')
  const [first, prev] = [linkOf(header['first'], 'first'), linkOf(header['prev'], 'prev')]
  const log = textOf(header['log'], 'The origin')
  if (header['v'] !== 1 || version < 1) throw refuse('The header is of another format than v 1')
  if ((first === null) !== (version === 1) || (prev === null) !== (version === 1))
    throw refuse('Version 1, and no other, follows nothing')
  if (origin !== undefined && log !== origin) throw refuse(`The event is of the log ${log}, not of ${origin}`)
  return { fields: hashMap(header['fields'], 'A field hash'), first, log, prev, version }
}

const linkOf = (value: unknown, what: string): string | null => (value === null ? null : toHex(hashOf(value, what)))

/** The files of an event by id, from the map that its opening binds. Throws `VERIFICATION_FAILED`. */
export function openFilesMap(text: unknown, salt: unknown, opening: Opening): ReadonlyMap<string, Uint8Array> {
  const exact = textOf(text, 'The files text')
  if (!equalBytes(filesHash(hashOf(salt, 'The files salt'), exact), opening.files))
    throw refuse('The files text and salt do not hash to that of the opening')
  return hashMap(jsonOf(exact, 'The files text'), 'A file hash')
}

const hashMap = (value: unknown, what: string): ReadonlyMap<string, Uint8Array> =>
  new Map(Object.entries(membersOf(value, what)).map(([name, hash]) => [name, hashOf(hash, what)]))

/** Opens what was disclosed of a map of hashes; what was not is left out. */
function openEach<T>(
  disclosed: unknown,
  hashes: ReadonlyMap<string, Uint8Array>,
  what: 'field' | 'file',
  hash: (salt: Uint8Array, text: string) => Uint8Array,
  parse: (text: string, name: string) => T,
): ReadonlyMap<string, T> {
  const opened = new Map<string, T>()
  for (const [name, value] of Object.entries(membersOf(disclosed, `The disclosed ${what}s`))) {
    const { text, salt } = membersOf(value, `The ${what} ${name}`)
    const exact = textOf(text, `The text of the ${what} ${name}`)
    const committed = hashes.get(name)
    if (committed === undefined) throw refuse(`The event commits to no ${what} ${name}`)
    if (!equalBytes(hash(hashOf(salt, `The salt of the ${what} ${name}`), exact), committed))
      throw refuse(`The ${what} ${name} does not hash to what the event commits to`)
    opened.set(name, parse(exact, name))
  }
  return opened
}

function parseField(text: string, name: string): Json {
  const pair = jsonOf(text, `The field ${name}`)
  if (!Array.isArray(pair) || pair.length !== 2 || pair[0] !== name)
    throw refuse(`The text of the field ${name} is not that of this field`)
  return pair[1] as Json
}

/** What a file's text says. Throws `VERIFICATION_FAILED` where it is not the text of this file. */
export function parseFileText(text: string, fileId: string): AttachedFile | DeletedFile {
  const what = `The text of the file ${fileId}`
  const file = membersOf(jsonOf(text, what), what)
  if (file['id'] !== fileId) throw refuse(`${what} is that of another file`)
  if (Object.hasOwn(file, 'deleted')) {
    assertMembers(file, ['deleted', 'id'], what)
    return { id: fileId, deleted: toHex(hashOf(file['deleted'], what)) }
  }
  assertMembers(file, ['id', 'mimeType', 'name', 'sha256', 'size'], what)
  return {
    id: fileId,
    mimeType: textOf(file['mimeType'], what),
    name: textOf(file['name'], what),
    sha256: toHex(hashOf(file['sha256'], what)),
    size: countOf(file['size'], what),
  }
}
