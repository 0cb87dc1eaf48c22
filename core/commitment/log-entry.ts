import { canonicalJson, parseStrictJson } from './canonical-json.ts'
import { concatBytes, decodeUtf8, encodeUtf8, equalBytes, fromHex, sha256, sha256Of, toHex } from '../bytes.ts'
import { OPENING_BYTES, tag, TAG_BYTES } from './event-format.ts'
import { RegistryError } from '../errors.ts'
import { parseVerifierKey, verifySignature } from '../log/note.ts'

/**
 * What the log's entries open to. An entry is 32 bytes, the SHA-256 of its opening; the opening's first 16 bytes name its
 * kind. Events are in `core/commitment/event-format.ts`; here are keys and tokens.
 *
 *     key    = T("er1.key")   ‖ J({log, prev, sig, v: 1, vkey})
 *     token  = T("er1.token") ‖ H(TimeStampResp)
 *
 * Entry 0 is the log's first key, `prev` and `sig` null. A later key names the entry of the one before (hex) and carries that
 * one's Ed25519 signature (hex) over `T("er1.key") ‖ J(the same without sig)`.
 */
const KEY = tag('er1.key')
const TOKEN = tag('er1.token')
const EVENT = tag('er1.event')
const ORIGIN = tag('er1.origin')

export type EntryKind = 'event' | 'key' | 'token'

/** Longest opening that is parsed. A key's is below 800 bytes. */
const MAX_OPENING_BYTES = 4096

/** The log entry of an opening, 32 bytes. */
export const entryOf = (opening: Uint8Array): Uint8Array => sha256(opening)

/** What an opening opens, by its tag (and, for an event or token, its length); `undefined` for anything else. */
export function kindOf(opening: Uint8Array): EntryKind | undefined {
  const kind = opening.subarray(0, TAG_BYTES)
  if (equalBytes(kind, EVENT) && opening.length === OPENING_BYTES) return 'event'
  if (equalBytes(kind, TOKEN) && opening.length === TAG_BYTES + 32) return 'token'
  return equalBytes(kind, KEY) ? 'key' : undefined
}

/** The opening of a timestamp token: the hash of the whole DER TimeStampResp. */
export const tokenOpening = (response: Uint8Array): Uint8Array => concatBytes(TOKEN, sha256(response))

export const MAX_ORIGIN_LENGTH = 200
const ORIGIN_ID_LENGTH = 32
const MAX_NAME_LENGTH = MAX_ORIGIN_LENGTH - 1 - ORIGIN_ID_LENGTH

/** Throws `CONFIG_ERROR` unless it can name a log: 1 to 167 of `A-Z a-z 0-9 . _ - /`, so that the whole origin fits 200. */
export function assertLogName(name: string): void {
  if (name.length > MAX_NAME_LENGTH || !/^[A-Za-z0-9._/-]+$/.test(name))
    throw new RegistryError(
      'CONFIG_ERROR',
      `The log's name takes 1 to ${MAX_NAME_LENGTH} characters of A-Z a-z 0-9 . _ - /`,
    )
}

/** The log's origin `NAME/ID`; ID is the first 32 hex digits of H(T("er1.origin") ‖ first public key). */
export const originOf = (name: string, publicKey: Uint8Array): string =>
  `${name}/${toHex(sha256Of(ORIGIN, publicKey)).slice(0, ORIGIN_ID_LENGTH)}`

export interface KeyOpening {
  /** The log's origin. */
  readonly log: string
  /** The entry (hex) of the key before, null for the first. */
  readonly prev: string | null
  /** The signature (hex) by the key before, null for the first. */
  readonly sig: string | null
  /** The C2SP verifier key; its name is the origin. */
  readonly vkey: string
}

/** The bytes that the key before signs to hand over. */
export const keyHandover = ({ log, prev, vkey }: Omit<KeyOpening, 'sig'>): Uint8Array =>
  concatBytes(KEY, encodeUtf8(canonicalJson({ log, prev, v: 1, vkey })))

export const keyOpening = ({ log, prev, sig, vkey }: KeyOpening): Uint8Array =>
  concatBytes(KEY, encodeUtf8(canonicalJson({ log, prev, sig, v: 1, vkey })))

const refuse = (why: string): RegistryError =>
  new RegistryError('VERIFICATION_FAILED', `Not the opening of a key: ${why}`)

/** Parses a key's opening; whom it names is not checked. From anybody: throws `VERIFICATION_FAILED`. */
export function parseKeyOpening(opening: Uint8Array): KeyOpening {
  if (kindOf(opening) !== 'key' || opening.length > MAX_OPENING_BYTES)
    throw refuse('it has another tag, or is too long')
  let value: unknown
  try {
    value = parseStrictJson(decodeUtf8(opening.subarray(TAG_BYTES)))
  } catch (cause) {
    throw new RegistryError('VERIFICATION_FAILED', 'Not the opening of a key: it holds no strict JSON', { cause })
  }
  const { log, prev, sig, v, vkey, ...more } = (typeof value === 'object' ? { ...value } : {}) as Record<
    string,
    unknown
  >
  const isHandover = isHex(prev, 32) && isHex(sig, 64)
  if (typeof log !== 'string' || typeof vkey !== 'string' || v !== 1 || Object.keys(more).length > 0)
    throw refuse('its members are others')
  if (!isHandover && (prev !== null || sig !== null)) throw refuse('prev and sig are both null or both hex')
  return { log, vkey, ...(isHandover ? { prev, sig } : { prev: null, sig: null }) }
}

const isHex = (value: unknown, bytes: number): value is string =>
  typeof value === 'string' && fromHex(value)?.length === bytes

/**
 * Checks the log's key openings, first to last, and answers what they say: the first one makes the origin, each later one is signed
 * by the one before. Throws `VERIFICATION_FAILED`.
 */
export function verifyKeyChain(openings: readonly Uint8Array[]): readonly KeyOpening[] {
  const keys = openings.map(parseKeyOpening)
  for (const [i, key] of keys.entries()) {
    const { name, publicKey } = parseVerifierKey(key.vkey)
    if (name !== key.log || key.log !== keys[0]?.log) throw refuse(`key ${i} is of another log`)
    if (i === 0) {
      if (key.prev !== null || key.log !== originOf(key.log.slice(0, -ORIGIN_ID_LENGTH - 1), publicKey))
        throw refuse('the first key does not make the origin')
    } else assertHandover(key, keys[i - 1] as KeyOpening, entryOf(openings[i - 1] as Uint8Array))
  }
  return keys
}

function assertHandover(key: KeyOpening, before: KeyOpening, entryBefore: Uint8Array): void {
  if (key.prev !== toHex(entryBefore)) throw refuse('it does not follow the key before')
  const { publicKey } = parseVerifierKey(before.vkey)
  if (!verifySignature(publicKey, keyHandover(key), fromHex(key.sig ?? '') as Uint8Array))
    throw refuse('the key before did not sign it')
}
