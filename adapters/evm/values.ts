import { RegistryError } from '../kit/index.ts'

/**
 * Parses the values in a node's JSON, which the node controls. Each function throws `ANCHOR_FAILED` that names the
 * value. The forms are those of the Ethereum JSON-RPC specification: quantities `0x0`, `0x1a`; data `0x` and two digits
 * per byte.
 */
export function quantity(value: unknown, name: string): bigint {
  const parsed = asQuantity(value)
  if (parsed !== undefined) return parsed
  throw malformed(name)
}

/** The same, but returns `undefined` for anything else. */
export const asQuantity = (value: unknown): bigint | undefined =>
  typeof value === 'string' && /^0x[0-9a-f]{1,64}$/i.test(value) ? BigInt(value) : undefined

/** A quantity that a number holds exactly. */
export function safeQuantity(value: unknown, name: string): number {
  const number = quantity(value, name)
  if (number <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(number)
  throw malformed(name)
}

/** A hash as the chain writes it: `0x` and 64 lowercase digits. */
export function hash(value: unknown, name: string): string {
  if (typeof value === 'string' && /^0x[0-9a-f]{64}$/i.test(value)) return value.toLowerCase()
  throw malformed(name)
}

export type JsonObject = Readonly<Record<string, unknown>>

/** An object, and not an array or `null`. */
export function object(value: unknown, name: string): JsonObject {
  if (isObject(value)) return value
  throw malformed(name)
}

/** Whether a value is an object, and not an array or `null`. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const malformed = (name: string): RegistryError =>
  new RegistryError('ANCHOR_FAILED', `The node's ${name} is malformed: check that the URL belongs to an EVM node`)
