import { fromHex } from '../bytes.ts'
import { parseStrictJson, type Json } from '../commitment/canonical-json.ts'
import { RegistryError } from '../errors.ts'
import { MAX_PROOF_ITEMS } from '../log/tree/proof.ts'

/** Reads the members of answers from anybody. Everything that is not what it must be is `VERIFICATION_FAILED`. */

export type Members = Readonly<Record<string, unknown>>

export const refuse = (why: string, cause?: unknown): RegistryError =>
  new RegistryError('VERIFICATION_FAILED', why, { cause })

export function membersOf(value: unknown, what: string): Members {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Members
  throw refuse(`${what} is no object`)
}

export function listOf(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw refuse(`${what} is no list`)
}

export function textOf(value: unknown, what: string): string {
  if (typeof value === 'string') return value
  throw refuse(`${what} is no text`)
}

/** A safe integer >= 0. */
export function countOf(value: unknown, what: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw refuse(`${what} is no integer from 0`)
}

/** Any bytes in lowercase hex. */
export function bytesOf(value: unknown, what: string): Uint8Array {
  const bytes = typeof value === 'string' ? fromHex(value) : undefined
  if (bytes === undefined) throw refuse(`${what} is not lowercase hex`)
  return bytes
}

/** 32 bytes in lowercase hex. */
export function hashOf(value: unknown, what: string): Uint8Array {
  const bytes = bytesOf(value, what)
  if (bytes.length !== 32) throw refuse(`${what} has ${bytes.length} bytes, not 32`)
  return bytes
}

export function hashesOf(value: unknown, what: string): readonly Uint8Array[] {
  const items = listOf(value, what)
  if (items.length > MAX_PROOF_ITEMS) throw refuse(`${what} has more than ${MAX_PROOF_ITEMS} items`)
  return items.map((item) => hashOf(item, what))
}

/** ms since 1970 of an RFC 3339 time as the registry writes it: UTC, milliseconds, Z. */
export function timeOf(value: unknown, what: string): number {
  const ms = typeof value === 'string' ? Date.parse(value) : NaN
  if (Number.isNaN(ms) || new Date(ms).toISOString() !== value)
    throw refuse(`${what} is no time in UTC with milliseconds`)
  return ms
}

/** Parses a text after it was hashed: strict, so that it says one thing to everybody. */
export function jsonOf(text: string, what: string): Json {
  try {
    return parseStrictJson(text)
  } catch (cause) {
    throw refuse(`${what} is no strict JSON`, cause)
  }
}

export function assertMembers(object: Members, names: readonly string[], what: string): void {
  const found = Object.keys(object)
  if (found.length !== names.length || !names.every((name) => Object.hasOwn(object, name)))
    throw refuse(`${what} has other members than ${names.join(', ')}`)
}
