import { concatBytes, decodeUtf8, encodeUtf8, equalBytes, fromHex, sha256, sha256Of, toHex } from '../bytes.ts'
import { RegistryError, verificationError } from '../errors.ts'
import { parseVerifierKey, verifySignature } from '../log/verifier-key.ts'
import { parseStrictJson } from './strict-json.ts'
import { OPENING_BYTES, tag, TAG_BYTES } from './event-format.ts'
import { ERASURE_TAG } from './receipt.ts'

export { OPENING_BYTES }

/**
 * The openings of log entries. An entry is the SHA-256 of its opening, 32 bytes. The first 16 bytes of the opening name
 * its kind. Openings of events are in `core/commitment/event-format.ts`, those of erasures in
 * `core/commitment/receipt.ts`, and those of keys and tokens here:
 *
 *     key    = T("er1.key")   ‖ J({log, prev, sig, v: 1, vkey})
 *     token  = T("er1.token") ‖ H(TimeStampResp)
 *
 * Entry 0 is the log's first key, with `prev` and `sig` null. Each later key names the entry of the previous key (hex),
 * and contains its signature (hex) of `T("er1.key") ‖ J(the same without sig)`. The type byte in the vkey names the
 * algorithm of a key; only 1, Ed25519, is known. Entries of other algorithms are parsed up to 16 KiB, but not verified.
 */

const KEY = tag('er1.key')
const TOKEN = tag('er1.token')
const EVENT = tag('er1.event')
const ORIGIN = tag('er1.origin')

/** What a log entry is. */
export type EntryKind = 'event' | 'key' | 'token' | 'erasure'

/**
 * The longest opening that is parsed. The opening of an Ed25519 key has less than 800 bytes; one of ML-DSA-44 would
 * have about 7,000.
 */
export const MAX_OPENING_BYTES = 16_384
/**
 * The most keys that a log may have. A bundle proves every key up to the newest signer, and a policy pins all of them,
 * so without a limit here an honest bundle could exceed what a verifier accepts.
 */
export const MAX_LOG_KEYS = 1_024
const HASH_BYTES = 32

/** The log entry of an opening, 32 bytes. */
export const entryOf = (opening: Uint8Array): Uint8Array => sha256(opening)

/** The kind of an opening, by its tag and, except for a key, its length. `undefined` for any other bytes. */
export function kindOf(opening: Uint8Array): EntryKind | undefined {
  const kind = opening.subarray(0, TAG_BYTES)
  if (equalBytes(kind, EVENT) && opening.length === OPENING_BYTES) return 'event'
  if (opening.length === TAG_BYTES + HASH_BYTES) {
    if (equalBytes(kind, TOKEN)) return 'token'
    if (equalBytes(kind, ERASURE_TAG)) return 'erasure'
  }
  return equalBytes(kind, KEY) ? 'key' : undefined
}

/** Tags of known kinds, and of what is hashed but is not an entry: no later kind may have them. */
const TAKEN = /^er1\.(?:event|key|token|erasure|field|files?|header|slot|origin|receipt|ledger\..*)$/

/**
 * Whether an opening is of a kind that a later version of the log may have added: it begins with a tag `er1.…` that is
 * not taken. A reader of the whole log skips such an entry, so that a new kind does not break it.
 */
export function isLaterKind(opening: Uint8Array): boolean {
  const text = opening.length < TAG_BYTES ? '' : String.fromCharCode(...opening.subarray(0, TAG_BYTES))
  const [name] = /^er1\.[\x21-\x7e]+(?=\0*$)/.exec(text) ?? ['er1.key']
  return !TAKEN.test(name)
}

/** The opening of a timestamp token. `response` is the whole TimeStampResp in DER. */
export const tokenOpening = (response: Uint8Array): Uint8Array => tokenOpeningOf(sha256(response))

/** The opening of a timestamp token, from the SHA-256 of its whole TimeStampResp (32 bytes). */
export const tokenOpeningOf = (digest: Uint8Array): Uint8Array => concatBytes(TOKEN, digest)

/** The longest origin, in characters. */
export const MAX_ORIGIN_LENGTH = 200
const ORIGIN_ID_LENGTH = 32
const MAX_NAME_LENGTH = MAX_ORIGIN_LENGTH - 1 - ORIGIN_ID_LENGTH

/** Throws `CONFIG_ERROR` unless a name has 1 to 167 of `A-Z a-z 0-9 . _ - /`, so that the origin has at most 200. */
export function assertLogName(name: string): void {
  if (name.length > MAX_NAME_LENGTH || !/^[A-Za-z0-9._/-]+$/.test(name))
    throw new RegistryError(
      'CONFIG_ERROR',
      `The log's name must have 1 to ${MAX_NAME_LENGTH} characters of A-Z a-z 0-9 . _ - /`,
    )
}

/**
 * The origin of a log, `NAME/ID`. ID is the first 32 hex digits of H(T("er1.origin") ‖ publicKey).
 *
 * @param publicKey The log's first Ed25519 public key, 32 bytes.
 */
export const originOf = (name: string, publicKey: Uint8Array): string =>
  `${name}/${toHex(sha256Of(ORIGIN, publicKey)).slice(0, ORIGIN_ID_LENGTH)}`

/** What the opening of a key says. */
export interface KeyOpening {
  /** The log's origin. */
  readonly log: string
  /** The log entry (hex) of the previous key, null for the first one. */
  readonly prev: string | null
  /** The signature (hex) by the previous key, null for the first one. */
  readonly sig: string | null
  /** The C2SP verifier key. Its name is the origin. */
  readonly vkey: string
}

/** A key in a log. */
export interface LoggedKey extends KeyOpening {
  /** The log entry of the opening. */
  readonly entry: Uint8Array
}

/** Canonical JSON, because the members are sorted and are texts without lone surrogates, `null` or 1. */
const canonical = (members: Readonly<Record<string, string | number | null>>): Uint8Array =>
  encodeUtf8(JSON.stringify(members))

/** The bytes that the previous key signs to hand over to this one. */
export const keyHandover = ({ log, prev, vkey }: Omit<KeyOpening, 'sig'>): Uint8Array =>
  concatBytes(KEY, canonical({ log, prev, v: 1, vkey }))

/** The opening of a key. */
export const keyOpening = ({ log, prev, sig, vkey }: KeyOpening): Uint8Array =>
  concatBytes(KEY, canonical({ log, prev, sig, v: 1, vkey }))

const keyError = (why: string, cause?: unknown): RegistryError =>
  verificationError('keys.malformed', `Not the opening of a key: ${why}`, cause)

/**
 * Parses the opening of a key, without checking its signature.
 *
 * @param opening May come from an attacker.
 * @throws `VERIFICATION_FAILED` if it is not the opening of a key.
 */
export function parseKeyOpening(opening: Uint8Array): LoggedKey {
  if (kindOf(opening) !== 'key' || opening.length > MAX_OPENING_BYTES)
    throw keyError('it has another tag, or is too long')
  const { log, prev, sig, v, vkey, ...more } = membersOf(opening)
  if (typeof log !== 'string' || typeof vkey !== 'string' || v !== 1 || Object.keys(more).length > 0)
    throw keyError('it must have the members log, prev, sig, v and vkey')
  const entry = entryOf(opening)
  if (prev === null && sig === null) return { log, vkey, prev, sig, entry }
  if (!isHash(prev) || typeof sig !== 'string' || sig === '' || fromHex(sig) === undefined)
    throw keyError('prev and sig must both be null or both be hex')
  return { log, vkey, prev, sig, entry }
}

function membersOf(opening: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value = parseStrictJson(decodeUtf8(opening.subarray(TAG_BYTES)))
    return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}
  } catch (cause) {
    throw keyError('it does not contain strict JSON', cause)
  }
}

const isHash = (value: unknown): value is string => typeof value === 'string' && fromHex(value)?.length === HASH_BYTES

/**
 * Verifies the chain of the keys of a log, of which there must be one: the first key determines the origin, and each
 * later key is signed by the previous one.
 *
 * @param keys What the openings of the key entries say, in the order of the log. They may come from an attacker.
 * @param onSignature called before each signature is checked
 * @throws `VERIFICATION_FAILED` if a key is of another origin, or the chain is wrong.
 */
export function assertKeyChain(keys: readonly LoggedKey[], origin: string, onSignature?: () => void): void {
  if (keys.length === 0) throw verificationError('keys.other-log', `There is no key of the log ${origin}`)
  for (const [i, key] of keys.entries()) {
    const { name, publicKey } = parseVerifierKey(key.vkey)
    if (name !== key.log || key.log !== origin)
      throw verificationError('keys.other-log', `The keys do not belong to the log ${origin}`)
    const previous = keys[i - 1]
    if (previous === undefined) assertFirstKey(key, publicKey)
    else assertHandover(key, previous, onSignature)
  }
}

function assertFirstKey({ log, prev }: KeyOpening, publicKey: Uint8Array): void {
  const name = log.slice(0, -ORIGIN_ID_LENGTH - 1)
  if (prev !== null || log !== originOf(name, publicKey))
    throw verificationError('keys.other-log', 'The origin does not belong to the first key')
}

function assertHandover(key: KeyOpening, previous: LoggedKey, onSignature?: () => void): void {
  const signature = key.sig === null ? undefined : fromHex(key.sig)
  if (signature === undefined || key.prev !== toHex(previous.entry))
    throw verificationError('keys.order', 'A key does not follow the previous key')
  const { publicKey } = parseVerifierKey(previous.vkey)
  onSignature?.()
  if (!verifySignature(publicKey, keyHandover(key), signature))
    throw verificationError('keys.handover', 'The previous key did not sign a key')
}
