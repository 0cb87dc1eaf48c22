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
  type EventFile,
  type Opening,
} from '../commitment/event-format.ts'
import { verificationError } from '../errors.ts'
import {
  assertMembers,
  asBytes,
  asCount,
  asHash,
  parseUntrustedJson,
  asObject,
  asString,
  type UntrustedObject,
} from './untrusted.ts'

/** The content of an event whose disclosure hashes to its txId. */
export interface VerifiedEvent {
  /** Hex. */
  readonly txId: string
  /** ms since 1970, from the registry's clock. */
  readonly time: number
  /** Hex. It depends on the history's slot key and the version only, so two events with the same slot are a fork. */
  readonly slot: string
  /** The log's origin. */
  readonly log: string
  readonly version: number
  /** txIds (hex) of version 1 and of the previous version. Both are null in version 1. */
  readonly first: string | null
  readonly prev: string | null
  /** The disclosed fields, by name. */
  readonly fields: ReadonlyMap<string, Json>
  /** Fields that the event sets and that are not disclosed: withheld or erased, a disclosure does not say which. */
  readonly hiddenFields: readonly string[]
  /** The disclosed files, by file id. */
  readonly files: ReadonlyMap<string, EventFile>
  /** Files that the event holds and that are not disclosed, by id: withheld or erased. */
  readonly hiddenFiles: readonly string[]
}

/** What an event is verified against. */
export interface VerifyEventOptions {
  /** Hex. It must come from another source than the disclosure, for example a receipt or a proof. */
  readonly txId: string
  /** The log's origin that the header must name. Default: any. */
  readonly origin?: string
}

/**
 * Verifies the disclosure of one event: hashes its exact texts to fields, files, header and opening, up to the txId
 * (`core/commitment/event-format.ts`). Texts are hashed as received and then parsed, never canonicalized.
 *
 * @param disclosure The `disclosure` member of an event, as parsed JSON. Untrusted.
 * @throws `VERIFICATION_FAILED` with the first check that failed.
 * @example
 * const { fields, hiddenFields } = verifyEvent(event.disclosure, { txId: receipt.txId })
 */
export function verifyEvent(disclosure: unknown, { txId, origin }: VerifyEventOptions): VerifiedEvent {
  const disclosed = asObject(disclosure, 'The disclosure')
  const opening = verifyOpening(disclosed['opening'], txId)
  const header = verifyHeader(disclosed['header'], opening, origin)
  const fields = verifyDisclosed(disclosed['fields'], header.fields, FIELD)
  const event: VerifiedEvent = {
    txId,
    time: opening.time,
    slot: toHex(opening.slot),
    log: header.log,
    version: header.version,
    first: header.first,
    prev: header.prev,
    fields,
    hiddenFields: [...header.fields.keys()].filter((name) => !fields.has(name)),
    ...verifyFiles(disclosed, opening),
  }
  const slotKey = fields.get('slotKey')
  if (slotKey !== undefined) assertSlot(event, asHash(slotKey, 'The slot key'))
  return event
}

/** Throws unless the event's slot is derived from this key and its version. */
export function assertSlot({ slot, version }: VerifiedEvent, slotKey: Uint8Array): void {
  if (toHex(slotHash(slotKey, version)) !== slot)
    throw verificationError(`The slot of version ${version} is not derived from the history's slot key`)
}

/** Parses an event's opening (hex) and checks that it hashes to the txId (hex). Throws `VERIFICATION_FAILED`. */
export function verifyOpening(opening: unknown, txId: unknown): Opening {
  const bytes = asBytes(opening, 'The opening')
  if (!equalBytes(txIdOf(bytes), asHash(txId, 'The txId')))
    throw verificationError('The opening does not hash to the txId')
  const parsed = parseOpening(bytes)
  if (parsed === undefined) throw verificationError('The opening is not an event opening')
  return parsed
}

interface VerifiedHeader {
  readonly fields: ReadonlyMap<string, Uint8Array>
  readonly first: string | null
  readonly log: string
  readonly prev: string | null
  readonly version: number
}

function verifyHeader(text: unknown, opening: Opening, origin: string | undefined): VerifiedHeader {
  const headerText = asString(text, 'The header')
  if (!equalBytes(headerHash(headerText), opening.header))
    throw verificationError('The header does not hash to the value in the opening')
  const header = asObject(parseUntrustedJson(headerText, 'The header'), 'The header')
  assertMembers(header, ['fields', 'first', 'log', 'prev', 'v', 'version'], 'The header')
  const version = asCount(header['version'], 'The version')
  const [first, prev] = [linkOf(header['first'], 'first'), linkOf(header['prev'], 'prev')]
  const log = asString(header['log'], 'The origin')
  if (header['v'] !== 1 || version < 1) throw verificationError('The header format is not supported: expected v 1')
  if ((first === null) !== (version === 1) || (prev === null) !== (version === 1))
    throw verificationError('Version 1 must have no first and prev, and every later version must have both')
  if (origin !== undefined && log !== origin)
    throw verificationError(`The event belongs to the log ${log}, expected ${origin}`)
  return { fields: hashMap(header['fields'], 'A field hash'), first, log, prev, version }
}

const linkOf = (value: unknown, what: string): string | null => (value === null ? null : toHex(asHash(value, what)))

/**
 * The file hashes of an event by file id, from the files map that its opening commits to. Throws `VERIFICATION_FAILED`.
 */
function verifyFilesMap(text: unknown, salt: unknown, opening: Opening): ReadonlyMap<string, Uint8Array> {
  const filesText = asString(text, 'The files text')
  if (!equalBytes(filesHash(asHash(salt, 'The files salt'), filesText), opening.files))
    throw verificationError('The files text and salt do not hash to the value in the opening')
  return hashMap(parseUntrustedJson(filesText, 'The files text'), 'A file hash')
}

const hashMap = (value: unknown, what: string): ReadonlyMap<string, Uint8Array> =>
  new Map(Object.entries(asObject(value, what)).map(([name, hash]) => [name, asHash(hash, what)]))

/** Verifies the files of an event that are disclosed, against its files map. Throws `VERIFICATION_FAILED`. */
export function verifyFiles(
  { filesText, filesSalt, files: disclosed }: UntrustedObject,
  opening: Opening,
): Pick<VerifiedEvent, 'files' | 'hiddenFiles'> {
  const hashes = verifyFilesMap(filesText, filesSalt, opening)
  const files = verifyDisclosed(disclosed, hashes, FILE)
  return { files, hiddenFiles: [...hashes.keys()].filter((id) => !files.has(id)) }
}

interface DisclosedKind<T> {
  readonly name: 'field' | 'file'
  readonly hash: (salt: Uint8Array, text: string) => Uint8Array
  readonly parse: (text: string, name: string) => T
}

const FIELD: DisclosedKind<Json> = { name: 'field', hash: fieldHash, parse: parseField }
const FILE: DisclosedKind<EventFile> = { name: 'file', hash: fileHash, parse: parseFileText }

/** Verifies each disclosed field or file against its committed hash. Those that are not disclosed are left out. */
function verifyDisclosed<T>(
  disclosed: unknown,
  hashes: ReadonlyMap<string, Uint8Array>,
  { name: kind, hash, parse }: DisclosedKind<T>,
): ReadonlyMap<string, T> {
  const verified = new Map<string, T>()
  for (const [name, value] of Object.entries(asObject(disclosed, `The disclosed ${kind}s`))) {
    const what = `${kind} ${name}`
    const { text, salt } = asObject(value, `The ${what}`)
    const exactText = asString(text, `The text of the ${what}`)
    const committed = hashes.get(name)
    if (committed === undefined) throw verificationError(`The event does not commit to the ${what}`)
    if (!equalBytes(hash(asHash(salt, `The salt of the ${what}`), exactText), committed))
      throw verificationError(`The ${what} does not hash to the value that the event commits to`)
    verified.set(name, parse(exactText, name))
  }
  return verified
}

function parseField(text: string, name: string): Json {
  const pair = parseUntrustedJson(text, `The field ${name}`)
  const [fieldName, value, ...others] = Array.isArray(pair) ? pair : []
  if (fieldName !== name || value === undefined || others.length > 0)
    throw verificationError(`The text of the field ${name} must be the array [name, value]`)
  return value
}

/** Parses a file's text. Throws `VERIFICATION_FAILED` if it is not the text of this file. */
function parseFileText(text: string, fileId: string): EventFile {
  const what = `The text of the file ${fileId}`
  const file = asObject(parseUntrustedJson(text, what), what)
  if (file['id'] !== fileId) throw verificationError(`${what} belongs to another file`)
  if (Object.hasOwn(file, 'deleted')) {
    assertMembers(file, ['deleted', 'id'], what)
    return { id: fileId, deleted: toHex(asHash(file['deleted'], what)) }
  }
  assertMembers(file, ['id', 'mimeType', 'name', 'sha256', 'size'], what)
  return {
    id: fileId,
    mimeType: asString(file['mimeType'], what),
    name: asString(file['name'], what),
    sha256: toHex(asHash(file['sha256'], what)),
    size: asCount(file['size'], what),
  }
}
