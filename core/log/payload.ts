import { concatBytes, equalBytes, fromHex, readU64, toHex, u64 } from '../bytes.ts'
import { entryOf, kindOf } from '../commitment/log-entry.ts'
import { corrupt } from '../errors.ts'
import type { LogAppend } from '../ports/index.ts'

/**
 * The payloads of the log's entries. The payload of an event is opening (120 bytes) ‖ the evidence's UUID (16) ‖
 * u64(version). The payload of a key or a token is its opening. The tag of the opening tells the kind.
 */
export type LogPayload = EventPayload | ControlPayload

/** The payload of an event: its opening, and which event it is. */
export interface EventPayload {
  readonly kind: 'event'
  /** 120 bytes. */
  readonly opening: Uint8Array
  readonly evidenceId: string
  readonly version: number
}

/** The payload of a key or a token of the log. */
export interface ControlPayload {
  readonly kind: 'key' | 'token'
  readonly opening: Uint8Array
}

const UUID_BYTES = 16
/** What follows the opening in the payload of an event. */
const REFERENCE_BYTES = UUID_BYTES + 8

/** What a commit appends for a key or a token with this opening. */
export const appendControl = (opening: Uint8Array): LogAppend => ({ entry: entryOf(opening), payload: opening })

/** The opening in the payload of any entry. */
export function openingOfPayload(payload: Uint8Array): Uint8Array {
  const start = payload.subarray(0, Math.max(0, payload.length - REFERENCE_BYTES))
  return kindOf(start) === 'event' ? start : payload
}

/** True for the payload of a key or a token. */
export function isControlPayload(payload: Uint8Array): boolean {
  const kind = kindOf(payload)
  return kind === 'key' || kind === 'token'
}

/** The payload of an event. */
export const encodeEventPayload = ({ opening, evidenceId, version }: Omit<EventPayload, 'kind'>): Uint8Array =>
  concatBytes(opening, uuidBytes(evidenceId), u64(version))

/** The 16 bytes of a UUID. */
export const uuidBytes = (id: string): Uint8Array => fromHex(id.replaceAll('-', '')) ?? new Uint8Array(UUID_BYTES)

/**
 * Decodes the payload of a log entry. Throws `CORRUPT` if it is not a payload, or its opening does not hash to the
 * entry.
 */
export function decodePayload(entry: Uint8Array, payload: Uint8Array | undefined): LogPayload {
  if (payload === undefined) throw corrupt(`The opening of log entry ${toHex(entry)} is missing`)
  const opening = openingOfPayload(payload)
  const kind = kindOf(opening)
  if (kind === undefined || (kind === 'event') !== (opening !== payload) || !equalBytes(entryOf(opening), entry))
    throw corrupt(`The opening of log entry ${toHex(entry)} is damaged`)
  if (kind !== 'event') return { kind, opening }
  const reference = payload.subarray(opening.length)
  return {
    kind,
    opening,
    evidenceId: uuidOf(reference.subarray(0, UUID_BYTES)),
    version: readU64(reference, UUID_BYTES),
  }
}

/** The time of the event with this payload, ms since 1970; `undefined` for a key or a token. */
export function eventTimeOf(payload: Uint8Array): number | undefined {
  const opening = openingOfPayload(payload)
  // The time is behind the tag and the slot.
  return opening === payload ? undefined : readU64(opening, 48)
}

/** Whether it is the payload of an event of the evidence with these bytes of a UUID. */
export const isEventOf = (payload: Uint8Array, evidenceId: Uint8Array): boolean =>
  equalBytes(payload.subarray(-REFERENCE_BYTES).subarray(0, UUID_BYTES), evidenceId)

function uuidOf(bytes: Uint8Array): string {
  const id = toHex(bytes)
  return [id.slice(0, 8), id.slice(8, 12), id.slice(12, 16), id.slice(16, 20), id.slice(20)].join('-')
}
