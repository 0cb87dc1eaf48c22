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
} from '../commitment/event-format.ts'
import { verificationError } from '../errors.ts'
import type { SaltedTexts, ShownDisclosure } from './shown.ts'
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
  if (shown.txId !== toHex(asHash(txId, 'The txId')))
    throw verificationError('event.txid-differs', 'The opening is that of another event')
  return verifyVersion(shown, origin)
}

/** Throws `VERIFICATION_FAILED` unless the members have the form of a disclosure. Ignores other members. */
export function parseDisclosure(members: UntrustedObject): ShownDisclosure {
  const { header, filesText, filesSalt, fields, files } = members
  const bytes = asBytes(members['opening'], 'An opening')
  const opening = parseOpening(bytes)
  if (opening === undefined) throw verificationError('event.opening', 'The opening is not an event opening')
  const entry = txIdOf(bytes)
  return {
    opening,
    entry,
    txId: toHex(entry),
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
  const { hashes, ...header } = verifyHeader(shown, origin)
  const fields = verifyDisclosed(shown.fields, hashes, FIELD)
  const event: VerifiedEvent = {
    txId: shown.txId,
    time: shown.opening.time,
    slot: toHex(shown.opening.slot),
    ...header,
    fields,
    hiddenFields: [...hashes.keys()].filter((name) => !fields.has(name)),
    ...verifyFiles(shown),
  }
  const slotKey = fields.get('slotKey')
  if (slotKey !== undefined) assertSlot(event, asHash(slotKey, 'The slot key'))
  return event
}

/** Throws unless the event's slot is derived from this key and its version. */
export function assertSlot({ slot, version }: Pick<VerifiedEvent, 'slot' | 'version'>, slotKey: Uint8Array): void {
  if (toHex(slotHash(slotKey, version)) !== slot)
    throw verificationError('event.slot-differs', `The slot of version ${version} is not that of the slot key`)
}

interface VerifiedHeader extends Pick<VerifiedEvent, 'first' | 'log' | 'prev' | 'version'> {
  /** Of the fields, by name. */
  readonly hashes: ReadonlyMap<string, Uint8Array>
}

function verifyHeader({ header: text, opening }: ShownDisclosure, origin: string | undefined): VerifiedHeader {
  if (text === undefined) throw verificationError('event.header-missing', 'The header of an event is missing')
  if (!equalBytes(headerHash(text), opening.header))
    throw verificationError('event.header-differs', 'The header does not hash to the value in the opening')
  const header = asObject(parseUntrustedJson(text, 'The header'), 'The header')
  assertMembers(header, ['fields', 'first', 'log', 'prev', 'v', 'version'], 'The header')
  const version = asCount(header['version'], 'The version')
  const [first, prev] = [linkOf(header['first'], 'first'), linkOf(header['prev'], 'prev')]
  const log = asString(header['log'], 'The origin')
  if (header['v'] !== 1 || version < 1) throw verificationError('event.header-malformed', 'The header must have v 1')
  if ((first === null) !== (version === 1) || (prev === null) !== (version === 1))
    throw verificationError('event.header-malformed', 'Version 1 must have no first and prev, each later one both')
  if (origin !== undefined && log !== origin)
    throw verificationError('event.other-log', `The event belongs to the log ${log}, expected ${origin}`)
  return { hashes: hashMap(header['fields'], 'A field hash'), first, log, prev, version }
}

const linkOf = (value: unknown, what: string): string | null => (value === null ? null : toHex(asHash(value, what)))

const hashMap = (value: unknown, what: string): ReadonlyMap<string, Uint8Array> =>
  new Map(Object.entries(asObject(value, what)).map(([name, hash]) => [name, asHash(hash, what)]))

type VerifiedFiles = Pick<VerifiedEvent, 'files' | 'hiddenFiles'>

/** Verifies the files of an event that are disclosed, against its files map. Throws `VERIFICATION_FAILED`. */
export function verifyFiles({ opening, filesMap, files: disclosed }: ShownDisclosure): VerifiedFiles {
  if (filesMap === undefined) throw verificationError('event.files-missing', 'The map of files of an event is missing')
  if (!equalBytes(filesHash(filesMap.salt, filesMap.text), opening.files))
    throw verificationError('event.files-differ', 'The files text and salt do not hash to the value in the opening')
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
    if (committed === undefined) throw verificationError('event.not-committed', `The event has no ${kind} ${name}`)
    if (!equalBytes(hash(salt, text), committed))
      throw verificationError('event.text-differs', `The ${kind} ${name} does not hash to what the event commits to`)
    verified.set(name, parse(text, name))
  }
  return verified
}

function parseField(text: string, name: string): Json {
  const pair = parseUntrustedJson(text, `The field ${name}`)
  const [fieldName, value, ...others] = Array.isArray(pair) ? pair : []
  if (fieldName !== name || value === undefined || others.length > 0)
    throw verificationError('event.text-malformed', `The text of the field ${name} must be the array [name, value]`)
  return value
}

/** Parses a file's text. Throws `VERIFICATION_FAILED` if it is not the text of this file. */
function parseFileText(text: string, fileId: string): EventFile {
  const what = `The text of the file ${fileId}`
  const file = asObject(parseUntrustedJson(text, what), what)
  if (file['id'] !== fileId) throw verificationError('event.text-malformed', `${what} belongs to another file`)
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
