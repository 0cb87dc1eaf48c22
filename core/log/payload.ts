import { allocate, decodeUtf8, equalBytes, fromHex, readU32, readU64, toHex, writeU64 } from '../bytes.ts'
import { type EntryKind, entryOf, kindOf, OPENING_BYTES } from '../commitment/log-entry.ts'
import { corrupt } from '../errors.ts'
import type { LogAppend } from '../ports/index.ts'

/**
 * The payloads of the log's entries. The payload of an event is opening (120 bytes) ‖ the evidence's UUID (16) ‖
 * u64(version) ‖ the number of its action (1) ‖ its company in ASCII. So the events of a company are found in the log
 * without reading a record. The payload of any other entry is its opening. The tag of the opening tells the kind.
 */
export type LogPayload = EventPayload | ControlPayload

/** The payload of an event: its opening, and which event it is. */
export interface EventPayload {
  readonly kind: 'event'
  /** 120 bytes. */
  readonly opening: Uint8Array
  readonly evidenceId: string
  readonly version: number
  readonly type: 'create' | 'transfer' | 'update'
  /** Of an update. */
  readonly updateType?: Exclude<(typeof ACTIONS)[number], 'create' | 'transfer'>
  readonly company: string
}

/** The payload of a key, a token or an erasure of the log. */
export interface ControlPayload {
  readonly kind: Exclude<EntryKind, 'event'>
  readonly opening: Uint8Array
}

/** The parts of an event's payload behind the opening. */
const VERSION_AT = OPENING_BYTES + 16
const ACTION_AT = VERSION_AT + 8
const COMPANY_AT = ACTION_AT + 1

/** What an event did, by its number in payloads. Numbers are stored, so new ones are added at the end. */
const ACTIONS = ['create', 'transfer', 'stolen', 'repair', 'custom', 'change', 'addfile', 'deletefile'] as const
const NAMES: readonly string[] = ACTIONS

/** What a commit appends for a key, a token or an erasure with this opening. */
export const appendControl = (opening: Uint8Array): LogAppend => ({ entry: entryOf(opening), payload: opening })

/** The opening in the payload of any entry. */
export function openingOfPayload(payload: Uint8Array): Uint8Array {
  const start = payload.subarray(0, payload.length > COMPANY_AT ? OPENING_BYTES : 0)
  return kindOf(start) === 'event' ? start : payload
}

/** The company of an event with this payload; `undefined` for other entries. */
export const companyOfPayload = (payload: Uint8Array): string | undefined =>
  openingOfPayload(payload) === payload ? undefined : decodeUtf8(payload.subarray(COMPANY_AT))

/**
 * Whether an entry must be sealed soon. Tokens wait for other entries: batches lead to tokens, so there would be no end
 * of batches. The first key is in no tree before the first event is. Each later one retires the key before it, which
 * takes effect with the first tree that holds it.
 */
export const opensBatch = (payload: Uint8Array, index: number): boolean => index > 0 && kindOf(payload) !== 'token'

/**
 * Whether an entry must be stamped and anchored soon. Erasures wait for other entries: a stamp and an anchor for each
 * would cost too much.
 */
export const needsAttestation = (payload: Uint8Array, index: number): boolean =>
  opensBatch(payload, index) && kindOf(payload) !== 'erasure'

/** The payload of an event with this opening. */
export function encodeEventPayload(opening: Uint8Array, event: Omit<EventPayload, 'kind' | 'opening'>): Uint8Array {
  const { evidenceId, version, type, updateType, company } = event
  const payload = allocate(COMPANY_AT + company.length)
  payload.set(opening)
  payload.set(uuidBytes(evidenceId), OPENING_BYTES)
  writeU64(payload, VERSION_AT, version)
  payload[ACTION_AT] = NAMES.indexOf(updateType ?? type)
  for (let i = 0; i < company.length; i++) payload[COMPANY_AT + i] = company.charCodeAt(i)
  return payload
}

/** The 16 bytes of a UUID. */
export const uuidBytes = (id: string): Uint8Array => fromHex(id.replaceAll('-', '')) ?? new Uint8Array(16)

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
  return kind === 'event' ? eventPayload(payload) : { kind, opening }
}

/** Decodes the payload of an event, which is not checked against its entry. Throws `CORRUPT` for an unknown action. */
export function eventPayload(payload: Uint8Array): EventPayload {
  const action = ACTIONS[payload[ACTION_AT] ?? -1]
  if (action === undefined) throw corrupt('The payload of a log entry names an unknown action')
  return {
    kind: 'event',
    opening: payload.subarray(0, OPENING_BYTES),
    evidenceId: uuidOf(payload.subarray(OPENING_BYTES, VERSION_AT)),
    version: readU64(payload, VERSION_AT),
    ...(action === 'create' || action === 'transfer' ? { type: action } : { type: 'update', updateType: action }),
    company: decodeUtf8(payload.subarray(COMPANY_AT)),
  }
}

/** The time of the event with this payload, ms since 1970; `undefined` for other entries. */
export function eventTimeOf(payload: Uint8Array): number | undefined {
  const opening = openingOfPayload(payload)
  // The time is behind the tag and the slot.
  return opening === payload ? undefined : readU64(opening, 48)
}

/** The last four bytes of the id of this event's evidence; 0 for other entries. */
export const evidenceIdEnd = (payload: Uint8Array): number =>
  openingOfPayload(payload) === payload ? 0 : readU32(payload, VERSION_AT - 4)

/** Whether it is the payload of an event of the evidence with these bytes of a UUID. */
export const isEventOf = (payload: Uint8Array, evidenceId: Uint8Array): boolean =>
  equalBytes(payload.subarray(OPENING_BYTES, VERSION_AT), evidenceId)

function uuidOf(bytes: Uint8Array): string {
  const id = toHex(bytes)
  return [id.slice(0, 8), id.slice(8, 12), id.slice(12, 16), id.slice(16, 20), id.slice(20)].join('-')
}
