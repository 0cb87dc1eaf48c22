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
  const shown = parseDisclosure(asObject(disclosure, 'The disclosure'))
  if (shown.txId !== toHex(asHash(txId, 'The txId'))) throw verificationError('The opening does not hash to the txId')
  return verifyVersion(shown, origin)
}

/** A text with the salt that it was hashed with. */
interface SaltedText {
  readonly text: string
  readonly salt: Uint8Array
}

type SaltedTexts = ReadonlyMap<string, SaltedText>

/** What a disclosure shows of an event: its form is right, and nothing is verified but the opening. */
export interface ShownDisclosure {
  readonly opening: Uint8Array
  /** The hash of the opening, hex. */
  readonly txId: string
  readonly header: string | undefined
  /** The map of file hashes. */
  readonly filesMap: SaltedText | undefined
  readonly fields: SaltedTexts | undefined
  readonly files: SaltedTexts | undefined
}

/** Throws `VERIFICATION_FAILED` unless the members have the form of a disclosure. Ignores other members. */
export function parseDisclosure(members: UntrustedObject): ShownDisclosure {
  const { header, filesText, filesSalt, fields, files } = members
  const opening = asBytes(members['opening'], 'An opening')
  return {
    opening,
    txId: toHex(txIdOf(opening)),
    header: header === undefined ? undefined : asString(header, 'The header'),
    filesMap:
      filesText === undefined && filesSalt === undefined
        ? undefined
        : { text: asString(filesText, 'The files text'), salt: asHash(filesSalt, 'The files salt') },
    fields: fields === undefined ? undefined : saltedTexts(fields, 'field'),
    files: files === undefined ? undefined : saltedTexts(files, 'file'),
  }
}

const saltedTexts = (value: unknown, kind: string): SaltedTexts =>
  new Map(
    Object.entries(asObject(value, `The disclosed ${kind}s`)).map(([name, member]) => {
      const what = `${kind} ${name}`
      const shown = asObject(member, `The ${what}`)
      assertMembers(shown, ['text', 'salt'], `The ${what}`)
      const text = asString(shown['text'], `The text of the ${what}`)
      return [name, { text, salt: asHash(shown['salt'], `The salt of the ${what}`) }]
    }),
  )

/** Verifies an event with its header. Throws `VERIFICATION_FAILED`. */
export function verifyVersion(shown: ShownDisclosure, origin: string | undefined): VerifiedEvent {
  const opening = openingOf(shown)
  const { hashes, ...header } = verifyHeader(shown.header, opening, origin)
  const fields = verifyDisclosed(shown.fields, hashes, FIELD)
  const event: VerifiedEvent = {
    txId: shown.txId,
    time: opening.time,
    slot: toHex(opening.slot),
    ...header,
    fields,
    hiddenFields: [...hashes.keys()].filter((name) => !fields.has(name)),
    ...verifyFiles(shown, opening),
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

/** Throws `VERIFICATION_FAILED` if it is the opening of another entry. */
export function openingOf({ opening }: ShownDisclosure): Opening {
  const parsed = parseOpening(opening)
  if (parsed === undefined) throw verificationError('The opening is not an event opening')
  return parsed
}

interface VerifiedHeader extends Pick<VerifiedEvent, 'first' | 'log' | 'prev' | 'version'> {
  /** Of the fields, by name. */
  readonly hashes: ReadonlyMap<string, Uint8Array>
}

function verifyHeader(text: string | undefined, opening: Opening, origin: string | undefined): VerifiedHeader {
  if (text === undefined) throw verificationError('The header of an event is missing')
  if (!equalBytes(headerHash(text), opening.header))
    throw verificationError('The header does not hash to the value in the opening')
  const header = asObject(parseUntrustedJson(text, 'The header'), 'The header')
  assertMembers(header, ['fields', 'first', 'log', 'prev', 'v', 'version'], 'The header')
  const version = asCount(header['version'], 'The version')
  const [first, prev] = [linkOf(header['first'], 'first'), linkOf(header['prev'], 'prev')]
  const log = asString(header['log'], 'The origin')
  if (header['v'] !== 1 || version < 1) throw verificationError('The header format is not supported: expected v 1')
  if ((first === null) !== (version === 1) || (prev === null) !== (version === 1))
    throw verificationError('Version 1 must have no first and prev, and every later version must have both')
  if (origin !== undefined && log !== origin)
    throw verificationError(`The event belongs to the log ${log}, expected ${origin}`)
  return { hashes: hashMap(header['fields'], 'A field hash'), first, log, prev, version }
}

const linkOf = (value: unknown, what: string): string | null => (value === null ? null : toHex(asHash(value, what)))

const hashMap = (value: unknown, what: string): ReadonlyMap<string, Uint8Array> =>
  new Map(Object.entries(asObject(value, what)).map(([name, hash]) => [name, asHash(hash, what)]))

/** Verifies the files of an event that are disclosed, against its files map. Throws `VERIFICATION_FAILED`. */
export function verifyFiles(
  { filesMap, files: disclosed }: ShownDisclosure,
  opening: Opening,
): Pick<VerifiedEvent, 'files' | 'hiddenFiles'> {
  if (filesMap === undefined) throw verificationError('The files text and the files salt of an event are missing')
  if (!equalBytes(filesHash(filesMap.salt, filesMap.text), opening.files))
    throw verificationError('The files text and salt do not hash to the value in the opening')
  const hashes = hashMap(parseUntrustedJson(filesMap.text, 'The files text'), 'A file hash')
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
  disclosed: SaltedTexts = new Map(),
  hashes: ReadonlyMap<string, Uint8Array>,
  { name: kind, hash, parse }: DisclosedKind<T>,
): ReadonlyMap<string, T> {
  const verified = new Map<string, T>()
  for (const [name, { text, salt }] of disclosed) {
    const committed = hashes.get(name)
    if (committed === undefined) throw verificationError(`The event does not commit to the ${kind} ${name}`)
    if (!equalBytes(hash(salt, text), committed))
      throw verificationError(`The ${kind} ${name} does not hash to the value that the event commits to`)
    verified.set(name, parse(text, name))
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
