import { fromBase64, fromHex } from '../bytes.ts'
import type { Json } from '../commitment/canonical-json.ts'
import { parseStrictJson } from '../commitment/strict-json.ts'
import { verificationError } from '../errors.ts'
import { MAX_PROOF_ITEMS } from '../log/tree/proof.ts'

/**
 * Parses untrusted JSON values (responses of a server that may lie) into types. Every function throws
 * `VERIFICATION_FAILED` if the value does not have the expected type. `what` names the value in the message.
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
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw verificationError('form.value', `${what} must be an integer >= 0`)
}

/** Bytes from lowercase hex. */
export function asBytes(value: unknown, what: string): Uint8Array {
  const bytes = typeof value === 'string' ? fromHex(value) : undefined
  if (bytes === undefined) throw verificationError('form.value', `${what} must be lowercase hex`)
  return bytes
}

/** Bytes from padded base64. */
export function asBase64(value: unknown, what: string): Uint8Array {
  const bytes = typeof value === 'string' ? fromBase64(value) : undefined
  if (bytes === undefined) throw verificationError('form.value', `${what} must be base64`)
  return bytes
}

/** 32 bytes from lowercase hex. */
export function asHash(value: unknown, what: string): Uint8Array {
  const bytes = asBytes(value, what)
  if (bytes.length !== 32) throw verificationError('form.value', `${what} must have 32 bytes, got ${bytes.length}`)
  return bytes
}

/** An array of hashes in hex, not longer than any proof. */
export const asHashes = (value: unknown, what: string): readonly Uint8Array[] =>
  asArray(value, what, MAX_PROOF_ITEMS).map((item) => asHash(item, what))

/** A text without the byte order mark that some editors put before it. */
export const withoutBom = (text: string): string => (text.startsWith('\uFEFF') ? text.slice(1) : text)

/** Parses a text after its hash was checked. Strict, so that every parser reads the same value from it. */
export function parseUntrustedJson(text: string, what: string): Json {
  try {
    return parseStrictJson(text, { acceptsCanonicalIntegers: true })
  } catch (cause) {
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

/** Signature checks that one stamp may cost. An honest one with three authorities and their CRLs needs about 25. */
export const MAX_SIGNATURE_CHECKS = 40

/**
 * Counts signature checks, so that a bundle made by an attacker costs a bounded time. Remembers what was checked: all
 * tokens of an honest bundle share a few certificates and CRLs, and each of these counts once.
 */
export class SignatureBudget {
  #limit: number
  #used = 0
  #isExceeded = false
  readonly #known = new Map<string, unknown>()

  constructor(limit = MAX_SIGNATURE_CHECKS) {
    this.#limit = limit
  }

  /** Allows as many checks more, for one more checkpoint. */
  extend(): void {
    this.#limit += MAX_SIGNATURE_CHECKS
  }

  /** Signature checks so far. */
  get used(): number {
    return this.#used
  }

  /** Whether a check was left out. A result must then fail, because that check could have refuted it. */
  get isExceeded(): boolean {
    return this.#isExceeded
  }

  /**
   * Returns what `compute` returned for this key before, or calls it. The key must name everything that `compute` uses,
   * and the type. An error is not remembered.
   */
  once<T>(key: string, compute: () => T): T {
    // eslint-disable-next-line typescript/no-unsafe-type-assertion -- the key names the type
    if (this.#known.has(key)) return this.#known.get(key) as T
    const result = compute()
    this.#known.set(key, result)
    return result
  }

  /** Call it before each check. Throws `VERIFICATION_FAILED` beyond the limit. */
  spend(): void {
    this.#isExceeded ||= this.#used >= this.#limit
    if (this.#isExceeded)
      throw verificationError('limit.signatures', `Verifying this needs more than ${this.#limit} signature checks`)
    this.#used += 1
  }
}
