import { encodeUtf8, fromBase64, fromHex, sha256, toHex } from '../bytes.ts'
import type { Json } from '../commitment/canonical-json.ts'
import { parseStrictJson } from '../commitment/strict-json.ts'
import { isRegistryError, verificationError } from '../errors.ts'
import { MAX_PROOF_ITEMS } from '../log/tree/proof.ts'

/**
 * Parses untrusted JSON values (responses of a server that may lie) into types. Every function throws
 * `VERIFICATION_FAILED` if the value does not have the expected type. `what` names the value in the message.
 *
 * `form.…` says that a value is of another type or in another spelling: a program that wrote the document again does
 * so, and it contradicts nothing. `value.malformed` says that a hash, a proof or a number is not one: it was changed.
 */

/** A JSON object from an untrusted source. Its members are not checked yet. */
export type UntrustedObject = Readonly<Record<string, unknown>>

/** Whether a value is a JSON object: not null, and not an array. */
export const isObject = (value: unknown): value is UntrustedObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A JSON object, whose members are not checked yet. */
export function asObject(value: unknown, what: string): UntrustedObject {
  if (isObject(value)) return value
  throw verificationError('form.value', `${what} must be an object`)
}

/** A JSON array of at most `max` items, which are not checked yet. */
export function asArray(value: unknown, what: string, max = Infinity): readonly unknown[] {
  if (!Array.isArray(value)) throw verificationError('form.value', `${what} must be an array`)
  if (value.length > max) throw verificationError('form.length', `${what} has more than ${max} items`)
  return value
}

/** A JSON array of at most `max` objects, whose members are not checked yet. */
export const asObjects = (value: unknown, what: string, max = Infinity): readonly UntrustedObject[] =>
  asArray(value, what, max).map((item) => asObject(item, `An item of ${what}`))

/** A string. */
export function asString(value: unknown, what: string): string {
  if (typeof value === 'string') return value
  throw verificationError('form.value', `${what} must be a string`)
}

/** A safe integer >= 0. */
export function asCount(value: unknown, what: string): number {
  if (typeof value !== 'number') throw verificationError('form.value', `${what} must be a number`)
  if (Number.isSafeInteger(value) && value >= 0) return value
  throw verificationError('value.malformed', `${what} must be an integer >= 0`)
}

/** Bytes from lowercase hex. */
export function asBytes(value: unknown, what: string): Uint8Array {
  const text = asString(value, what)
  const bytes = fromHex(text)
  if (bytes !== undefined) return bytes
  const isUppercase = fromHex(text.toLowerCase()) !== undefined
  throw verificationError(isUppercase ? 'form.value' : 'value.malformed', `${what} must be lowercase hex`)
}

/** Bytes from padded base64. What is written so contradicts nothing if it is wrong. */
export function asBase64(value: unknown, what: string): Uint8Array {
  const bytes = typeof value === 'string' ? fromBase64(value) : undefined
  if (bytes === undefined) throw verificationError('form.value', `${what} must be base64`)
  return bytes
}

/** 32 bytes from lowercase hex. */
export function asHash(value: unknown, what: string): Uint8Array {
  const bytes = asBytes(value, what)
  if (bytes.length !== 32) throw verificationError('value.malformed', `${what} must have 32 bytes, got ${bytes.length}`)
  return bytes
}

/** An array of hashes in hex, not longer than any proof. */
export const asHashes = (value: unknown, what: string): readonly Uint8Array[] =>
  asArray(value, what, MAX_PROOF_ITEMS).map((item) => asHash(item, what))

/** How many values a JSON text may have. A path of 32 MB has half as many hashes. */
const MAX_VALUES = 800_000

/** A text without the byte order mark that some editors put before it. */
export const withoutBom = (text: string): string => (text.startsWith('\uFEFF') ? text.slice(1) : text)

/** Parses a text after its hash was checked. Strict, so that every parser reads the same value from it. */
export function parseUntrustedJson(text: string, what: string): Json {
  try {
    return parseStrictJson(text, { acceptsCanonicalIntegers: true, maxValues: MAX_VALUES, namesPlace: false })
  } catch (cause) {
    if (isRegistryError(cause, 'PAYLOAD_TOO_LARGE')) throw verificationError('form.length', `${what}: ${cause.message}`)
    throw verificationError('form.json', `${what} is not strict JSON`, cause)
  }
}

/** Throws unless the object has exactly these members. */
export function assertMembers(object: UntrustedObject, names: readonly string[], what: string): void {
  const actual = Object.keys(object)
  if (actual.length !== names.length || !names.every((name) => Object.hasOwn(object, name)))
    throw verificationError('form.members', `${what} must have exactly the members ${names.join(', ')}`)
}

/** Throws if the object has a member with another name. */
export function assertOnlyMembers(object: UntrustedObject, names: readonly string[], what: string): void {
  const unknown = Object.keys(object).find((name) => !names.includes(name))
  if (unknown !== undefined)
    throw verificationError('form.members', `${what} has the unknown member ${unknown.slice(0, 64)}`)
}

/**
 * Throws `document.newer` for what a later version of the registry may have made: a document whose `version` is
 * above 1, or one with another member than these.
 */
export function assertNotNewer(document: UntrustedObject, names: readonly string[], what: string): void {
  const { version } = document
  const unknown = Object.keys(document).find((name) => name !== 'version' && !names.includes(name))
  const sign = unknown === undefined ? `the version ${String(version)}` : `the member ${unknown.slice(0, 64)}`
  if (unknown !== undefined || (typeof version === 'number' && version > 1))
    throw verificationError('document.newer', `${what} was made by a newer version (${sign}): fetch a newer verifier`)
}

/** A whole document of version 1. Throws `document.newer`, and `document.format` for another one. */
export function asDocument(value: unknown, format: string, names: readonly string[], what: string): UntrustedObject {
  const document = isObject(value) && value['format'] === format ? value : {}
  assertNotNewer(document, names, what)
  if (document['version'] === 1) return document
  throw verificationError('document.format', `${what} must have the format ${format} and the version 1`)
}

/**
 * What one verification may cost. A unit is an Ed25519 signature: 0.1 ms in Node, 2.6 ms in a browser. So the
 * signatures of any bundle take at most 2 s in Node and 4 s in a browser, beside those that pinned witnesses made.
 */
export const MAX_COST = 1_500
/** Parsing a certificate, a token, or a list of another kind, without its signature. */
export const PARSE_COST = 2
/** For each that many bytes of what is signed or parsed. */
const BYTES_PER_UNIT = 65_536

type Result = { readonly result: unknown } | { readonly error: unknown }

/** It then forgets what it can compute again. The larger results have a few KB. */
const MAX_REMEMBERED = 8_192
/** The roots of all trees of a log. They are never forgotten, and these many take 400 MB. */
const MAX_TREES = 4_000_000
const TREES = 'trees'

/**
 * What was verified for several bundles: they share most of their tokens, anchors and checkpoints. Each of these is
 * then verified once, and must be the same in all of them. It begins empty.
 */
export type VerifierMemory = Map<string, Result>

/**
 * Counts signature checks and what is parsed, so that a bundle made by an attacker costs a bounded time. Remembers
 * results: all tokens of an honest bundle share a few certificates and CRLs, and each of these counts once.
 */
export class SignatureBudget {
  readonly #limit: number
  #used = 0
  #isExceeded = false
  readonly #results = new Map<unknown, Result>()
  readonly #memory: VerifierMemory | undefined

  constructor(limit = MAX_COST, memory?: VerifierMemory) {
    this.#limit = limit
    this.#memory = memory
  }

  /** Units so far. */
  get used(): number {
    return this.#used
  }

  /** Whether a check was left out. There must then be no result, because that check could have changed it. */
  get isExceeded(): boolean {
    return this.#isExceeded
  }

  /**
   * Returns what `compute` returned for this key before, or throws what it threw, or calls it. The key is an object
   * that has one meaning, or a text that names everything that `compute` uses, and the type.
   */
  once<T>(key: string | object, compute: () => T): T {
    let result = this.#results.get(key)
    if (result === undefined) this.#results.set(key, (result = attempt(compute)))
    return valueOf<T>(result)
  }

  /**
   * As `once`, over all bundles with the same memory. Without one, it calls `compute`.
   *
   * @param keyParts - everything that `compute` uses, of whatever bundle, and first the type of its result
   */
  onceForAll<T>(keyParts: readonly (string | number | undefined)[], compute: () => T): T {
    if (this.#memory === undefined) return compute()
    const key = toHex(sha256(encodeUtf8(JSON.stringify(keyParts))))
    const result = this.#memory.get(key) ?? attempt(compute)
    if (this.#memory.size >= MAX_REMEMBERED) {
      const trees = this.#memory.get(TREES)
      this.#memory.clear()
      if (trees !== undefined) this.#memory.set(TREES, trees)
    }
    // What exceeded the limit, another bundle may afford.
    if (!this.#isExceeded) this.#memory.set(key, result)
    return valueOf<T>(result)
  }

  /**
   * The root that was given first for a tree, over all bundles with the same memory: it is never forgotten, else a fork
   * would go unseen. Throws `VERIFICATION_FAILED` beyond the limit.
   */
  firstRoot(log: string, size: number, root: string): string {
    if (this.#memory === undefined) return root
    const logs = this.#memory.get(TREES) ?? { result: new Map<string, Map<number, string>>() }
    this.#memory.set(TREES, logs)
    const ofLogs = valueOf<Map<string, Map<number, string>>>(logs)
    const roots = ofLogs.get(log) ?? new Map<number, string>()
    const first = roots.get(size)
    if (first !== undefined) return first
    if (roots.size >= MAX_TREES)
      throw verificationError('form.length', `No more than ${MAX_TREES} trees of a log can be compared`)
    ofLogs.set(log, roots.set(size, root))
    return root
  }

  /** SHA-256 of these bytes, hex. The same object is hashed once. */
  hashOf(bytes: Uint8Array): string {
    return this.once(bytes, () => toHex(sha256(bytes)))
  }

  /** Call it before each check of `length` bytes. Throws `VERIFICATION_FAILED` beyond the limit. */
  spend(units = 1, length = 0): void {
    this.#used += units + Math.floor(length / BYTES_PER_UNIT)
    this.#isExceeded ||= this.#used > this.#limit
    if (this.#isExceeded) throw verificationError('limit.signatures', 'Verifying this needs too many signature checks')
  }
}

function attempt(compute: () => unknown): Result {
  try {
    return { result: compute() }
  } catch (error) {
    return { error }
  }
}

function valueOf<T>(outcome: Result): T {
  if ('error' in outcome) throw outcome.error
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- the key names the type
  return outcome.result as T
}
