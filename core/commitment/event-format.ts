import { canonicalJson, MAX_DEPTH, type Json } from './canonical-json.ts'
import { concatBytes, encodeUtf8, sha256, sha256Of, sha256HexOfText, sha256OfText, toHex, u64 } from '../bytes.ts'

/**
 * What an event commits to, format `v: 1`. H = SHA-256, ‖ joins, u64 = 8 bytes big-endian, T(x) = ASCII x padded with
 * zeros to 16 bytes, J(v) = canonical JSON of v in UTF-8. Hashes are raw 32 bytes, inside J lowercase hex.
 *
 *     field   = H(T("er1.field")  ‖ salt ‖ J([name, value]))
 *     file    = H(T("er1.file")   ‖ salt ‖ J({id, mimeType, name, sha256, size}))
 *     files   = H(T("er1.files")  ‖ salt ‖ J({file id: file, …}))
 *     header  = H(T("er1.header") ‖ J({fields: {name: field, …}, first, log, prev, v: 1, version}))
 *     slot    = H(T("er1.slot")   ‖ slotKey ‖ u64(version))
 *     opening = T("er1.event") ‖ slot ‖ u64(time) ‖ header ‖ files     120 bytes
 *     txId    = H(opening)
 *
 * Every function here that hashes a J takes its exact text: a verifier hashes the bytes it receives and then parses
 * them; it never canonicalises.
 */

export const TAG_BYTES = 16
export const SALT_BYTES = 32
export const OPENING_BYTES = 120

/** T(x): ASCII, padded with zeros to 16 bytes. */
export function tag(name: string): Uint8Array {
  const bytes = encodeUtf8(name)
  if (bytes.length > TAG_BYTES) throw new RangeError(`A tag has at most ${TAG_BYTES} bytes: ${name}`)
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

/** Of a value that lies in an array or object. */
const INNER = { maxDepth: MAX_DEPTH - 1 }

/** J([name, value]), the text that a field's hash binds. */
export const fieldText = (name: string, value: Json): string =>
  `[${canonicalJson(name)},${canonicalJson(value, INNER)}]`

/** The field's hash as the header holds it: lowercase hex. */
export const fieldHashHex = (salt: Uint8Array, text: string): string => sha256HexOfText(text, FIELD, salt)

export const fieldHash = (salt: Uint8Array, text: string): Uint8Array => sha256OfText(text, FIELD, salt)

export interface AttachedFile {
  readonly id: string
  readonly mimeType: string
  readonly name: string
  /** Lowercase hex of the content's SHA-256. */
  readonly sha256: string
  /** Bytes. */
  readonly size: number
}

/** J of a file that an event attaches. */
export const attachedFileText = ({ id, mimeType, name, sha256: hash, size }: AttachedFile): string =>
  canonicalJson({ id, mimeType, name, sha256: hash, size })

/** J of a file that a deletefile event deletes; `deleted` is the txId of the event that attached it. */
export const deletedFileText = (id: string, deleted: string): string => canonicalJson({ deleted, id })

export const fileHash = (salt: Uint8Array, text: string): Uint8Array => sha256OfText(text, FILE, salt)

/** J({file id: file, …}); `{}` where an event has no files. */
export const filesText = (files: Readonly<Record<string, string>>): string => canonicalJson(files)

export const filesHash = (salt: Uint8Array, text: string): Uint8Array => sha256OfText(text, FILES, salt)

export interface Header {
  /** Field name → field hash, hex. The map is whole, so a name's absence is proven. */
  readonly fields: Readonly<Record<string, string>>
  /** txId (hex) of version 1; null in version 1. */
  readonly first: string | null
  /** The log's origin. */
  readonly log: string
  /** txId (hex) of the version before; null in version 1. */
  readonly prev: string | null
  readonly version: number
}

export const headerText = ({ fields, first, log, prev, version }: Header): string =>
  `{"fields":${canonicalJson(fields, INNER)},"first":${canonicalJson(first)},"log":${canonicalJson(log)},"prev":${canonicalJson(prev)},"v":1,"version":${canonicalJson(version)}}`

export const headerHash = (text: string): Uint8Array => sha256OfText(text, HEADER)

/** Two entries with one slot are a fork of a history that anyone can see. */
export const slotHash = (slotKey: Uint8Array, version: number): Uint8Array => sha256Of(SLOT, slotKey, u64(version))

export interface Opening {
  /** 32 bytes each. */
  readonly slot: Uint8Array
  readonly header: Uint8Array
  readonly files: Uint8Array
  /** ms since 1970. */
  readonly time: number
}

/** The 120 bytes whose hash is the txId. */
export const openingBytes = ({ slot, time, header, files }: Opening): Uint8Array =>
  concatBytes(EVENT, slot, u64(time), header, files)

/** The txId of an opening: 32 bytes, the log entry. */
export const txIdOf = (opening: Uint8Array): Uint8Array => sha256(opening)

/** The parts of an event's opening; `undefined` where the bytes are no event opening (a key or token entry, or anything else). */
export function parseOpening(bytes: Uint8Array): Opening | undefined {
  if (bytes.length !== OPENING_BYTES || toHex(bytes.subarray(0, TAG_BYTES)) !== toHex(EVENT)) return undefined
  const time = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(48)
  if (time > BigInt(Number.MAX_SAFE_INTEGER)) return undefined
  return { slot: bytes.slice(16, 48), time: Number(time), header: bytes.slice(56, 88), files: bytes.slice(88, 120) }
}
