import { canonicalJson, MAX_DEPTH, type Json } from './canonical-json.ts'
import { concatBytes, encodeUtf8, equalBytes, saltedHashes, sha256, sha256Of, sha256OfText, u64 } from '../bytes.ts'

/**
 * What an event commits to, in format `v: 1`. H = SHA-256, ‖ joins bytes, u64 = 8 bytes big-endian, T(x) = ASCII x
 * padded with zeros to 16 bytes, J(v) = canonical JSON of v in UTF-8. Hashes are 32 bytes, and lowercase hex inside J.
 *
 *     field   = H(T("er1.field")  ‖ salt ‖ J([name, value]))
 *     file    = H(T("er1.file")   ‖ salt ‖ J({id, mimeType, name, sha256, size}))
 *     files   = H(T("er1.files")  ‖ salt ‖ J({file id: file, …}))
 *     header  = H(T("er1.header") ‖ J({fields: {name: field, …}, first, log, prev, v: 1, version}))
 *     slot    = H(T("er1.slot")   ‖ slotKey ‖ u64(version))
 *     opening = T("er1.event") ‖ slot ‖ u64(time) ‖ header ‖ files     120 bytes
 *     txId    = H(opening)
 *
 * Every function here that hashes a J takes its exact text. A verifier hashes the bytes that it received, and then
 * parses them. It never writes them again as canonical JSON.
 */

/** Bytes of a tag, T(x). */
export const TAG_BYTES = 16
/** Bytes of a salt. */
export const SALT_BYTES = 32
/** Bytes of an event's opening. */
export const OPENING_BYTES = 120

/** T(x): ASCII, padded with zeros to 16 bytes. Throws a `RangeError` for more than 16 characters. */
export function tag(name: string): Uint8Array {
  const bytes = encodeUtf8(name)
  if (bytes.length > TAG_BYTES) throw new RangeError(`A tag must have at most ${TAG_BYTES} bytes: ${name}`)
  const out = new Uint8Array(TAG_BYTES)
  out.set(bytes)
  return out
}

const FIELD = tag('er1.field')
const FILE = tag('er1.file')
const FILES = tag('er1.files')
const HEADER = tag('er1.header')
const SLOT = tag('er1.slot')
const EVENT = tag('er1.event')

/** For a value inside an array or object. */
const INNER = { maxDepth: MAX_DEPTH - 1 }

/** The fields that events can have (core/README.md). */
export const EVENT_FIELDS: readonly string[] = [
  'action',
  'actor',
  'company',
  'evidence',
  'externalId',
  'name',
  'categoryId',
  'subcategoryId',
  'slotKey',
  'owner',
  'description',
  'summary',
  'meta',
  'imageId',
  'status',
  'updateDescription',
  'personaName',
  'eventDescription',
]

/** Field names that no event of version 1 has. `author` is reserved for the person or key that signed an event. */
const RESERVED_FIELDS: readonly string[] = ['author']

/** Throws a `RangeError` if a field of an event has a reserved name. */
export function assertFieldNames(fields: Readonly<Record<string, unknown>>): void {
  for (const name of RESERVED_FIELDS)
    if (name in fields) throw new RangeError(`The field name ${name} is reserved in events of version 1`)
}

/** J(value) for the value of a field. Throws `VALIDATION_ERROR` as `canonicalJson`. */
export const valueText = (value: Json): string => canonicalJson(value, INNER)

/** J([name, value]): the text of a field. Throws `VALIDATION_ERROR` as `canonicalJson`. */
export const fieldText = (name: string, value: Json): string => namedText(name, valueText(value))

/** The text of a field with this J(value). */
export const namedText = (name: string, text: string): string => `[${canonicalJson(name)},${text}]`

/**
 * The hashes of fields in lowercase hex, which is their form in the header.
 *
 * @param salts 32 bytes each. `firstSalt`: the number of the one of the first text.
 */
export const fieldHashes = (texts: readonly string[], salts: Uint8Array, firstSalt: number): readonly string[] =>
  saltedHashes(FIELD, texts, salts, firstSalt)

/** The same for files. */
export const fileHashes = (texts: readonly string[], salts: Uint8Array, firstSalt: number): readonly string[] =>
  saltedHashes(FILE, texts, salts, firstSalt)

/** The hash of a field with its salt (32 bytes), 32 bytes. */
export const fieldHash = (salt: Uint8Array, text: string): Uint8Array => sha256OfText(text, FIELD, salt)

/** What an event commits to of a file that it attaches. */
export interface AttachedFile {
  readonly id: string
  readonly mimeType: string
  readonly name: string
  /** SHA-256 of the content, lowercase hex. */
  readonly sha256: string
  /** Bytes. */
  readonly size: number
}

/** What an event commits to of a file that it deletes. */
export interface DeletedFile {
  readonly id: string
  /** txId (hex) of the event that attached the file. */
  readonly deleted: string
}

/** A file in an event's commitment: attached by the event, or deleted by it. */
export type EventFile = AttachedFile | DeletedFile

/** J of a file that an event attaches. Ignores other members. */
export const attachedFileText = ({ id, mimeType, name, sha256: hash, size }: AttachedFile): string =>
  canonicalJson({ id, mimeType, name, sha256: hash, size })

/** J of a file that an event deletes. `deleted` is the txId (hex) of the event that attached it. */
export const deletedFileText = (id: string, deleted: string): string => canonicalJson({ deleted, id })

/** The hash of a file with its salt (32 bytes), 32 bytes. */
export const fileHash = (salt: Uint8Array, text: string): Uint8Array => sha256OfText(text, FILE, salt)

/**
 * J({name: hash, …}): the text of the hashes (hex) of an event's files, `{}` without files, and of its fields. The
 * names must be in the order of UTF-16 code units.
 */
export function hashesText(names: readonly string[], hashes: readonly string[]): string {
  let out = '{'
  for (let i = 0; i < names.length; i++) out += `${i === 0 ? '' : ','}${canonicalJson(names[i])}:"${hashes[i]}"`
  return `${out}}`
}

/** The hash of the files' text with its salt (32 bytes), 32 bytes. */
export const filesHash = (salt: Uint8Array, text: string): Uint8Array => sha256OfText(text, FILES, salt)

/** What the header of an event contains. */
export interface Header {
  /** `hashesText` of every field of the event, so a name that is missing is proven absent. */
  readonly fields: string
  /** txId (hex) of version 1; null in version 1. */
  readonly first: string | null
  /** The origin of the log. */
  readonly log: string
  /** txId (hex) of the previous version; null in version 1. */
  readonly prev: string | null
  readonly version: number
}

/** J of a header. */
export const headerText = ({ fields, first, log, prev, version }: Header): string =>
  `{"fields":${fields},"first":${canonicalJson(first)},"log":${canonicalJson(log)},` +
  `"prev":${canonicalJson(prev)},"v":1,"version":${canonicalJson(version)}}`

/** The hash of a header's text, 32 bytes. */
export const headerHash = (text: string): Uint8Array => sha256OfText(text, HEADER)

/**
 * The slot of a version of an evidence, 32 bytes. Two log entries with the same slot are a forked history, which anyone
 * can detect.
 *
 * @param slotKey The evidence's 32 random bytes.
 * @throws a `RangeError` unless `version` is a safe integer >= 0.
 */
export const slotHash = (slotKey: Uint8Array, version: number): Uint8Array => sha256Of(SLOT, slotKey, u64(version))

/** The parts of an event's opening. */
export interface Opening {
  /** 32 bytes. */
  readonly slot: Uint8Array
  /** Hash of the header, 32 bytes. */
  readonly header: Uint8Array
  /** Hash of the files, 32 bytes. */
  readonly files: Uint8Array
  /** ms since 1970. */
  readonly time: number
}

/** The 120 bytes of an opening. Its hash is the txId. Throws a `RangeError` unless `time` is a safe integer >= 0. */
export const openingBytes = ({ slot, time, header, files }: Opening): Uint8Array =>
  concatBytes(EVENT, slot, u64(time), header, files)

/** The txId of an opening: 32 bytes, which are also the log entry. */
export const txIdOf = (opening: Uint8Array): Uint8Array => sha256(opening)

/**
 * Parses the opening of an event. The bytes may come from an attacker.
 *
 * @returns `undefined` if the bytes are not an event's opening, for example the opening of a key or a token.
 */
export function parseOpening(bytes: Uint8Array): Opening | undefined {
  if (bytes.length !== OPENING_BYTES || !equalBytes(bytes.subarray(0, TAG_BYTES), EVENT)) return undefined
  const time = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(48)
  if (time > BigInt(Number.MAX_SAFE_INTEGER)) return undefined
  return { slot: bytes.slice(16, 48), time: Number(time), header: bytes.slice(56, 88), files: bytes.slice(88, 120) }
}

/** The exact text that was hashed, and the salt (64 hex digits) it was hashed with. */
export interface DisclosedText {
  readonly text: string
  readonly salt: string
}

/**
 * Everything it takes to recompute an event's txId (`core/SPECIFICATION.md`). Verifiers hash the texts as they
 * are; they never canonicalize. What was erased is absent here, and present only as a hash in `header` or `filesText`.
 */
export interface Disclosure {
  /** The 120 bytes whose SHA-256 is the txId, hex. */
  readonly opening: string
  /** Canonical JSON of the header. */
  readonly header: string
  /** Canonical JSON of the map from file id to file hash. */
  readonly filesText: string
  /** 64 hex digits. */
  readonly filesSalt: string
  /** By field name. */
  readonly fields: Readonly<Record<string, DisclosedText>>
  /** By file id. */
  readonly files: Readonly<Record<string, DisclosedText>>
}
