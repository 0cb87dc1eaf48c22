import { toHex } from '../bytes.ts'
import { canonicalJson, type Json } from '../commitment/canonical-json.ts'
import { txIdOf } from '../commitment/event-format.ts'
import type { Key } from '../ports/index.ts'
import { openEvent } from '../registry/event/event.ts'
import type { EventRecord, EvidenceRecord } from '../store/records.ts'
import type { Check } from './check.ts'

/** The result of the events of an evidence that were added so far. */
export interface History {
  version: number
  /** txId of version 1. */
  first: string | null
  /** txId of the last version. */
  prev: string | null
  /** ms since 1970, of the last version. */
  time: number
  createdAt: number | undefined
  readonly changes: { create: number; update: number; transfer: number }
  /** The last value of each field. */
  readonly values: Map<string, Json>
  /** Files that are attached, by id, with the version that attached each. */
  readonly attachedFiles: Map<string, number>
  /** txIds of the versions that have files, by version. */
  readonly txIds: Map<number, string>
}

export const emptyHistory = (): History => ({
  version: 0,
  first: null,
  prev: null,
  time: 0,
  createdAt: undefined,
  changes: { create: 0, update: 0, transfer: 0 },
  values: new Map(),
  attachedFiles: new Map(),
  txIds: new Map(),
})

interface StoredEvent {
  readonly key: Key
  readonly event: EventRecord
}

interface StoredOpening extends StoredEvent {
  readonly origin: string
  readonly evidence: EvidenceRecord
}

/** Checks that the txId results from the values and salts. `checkLog` checks that its log entry refers to the event. */
export function checkOpening(check: Check, { key, event, origin, evidence }: StoredOpening): void {
  const opening = check.guard('event', key, () => openEvent(event, { origin, slotKey: evidence.slotKey }).opening)
  if (opening === undefined) return
  check.expect(toHex(txIdOf(opening)) === event.txId, 'event', key, 'Its values and salts result in another txId')
}

/** Adds an event to the history, and reports it if it does not follow. `expectedKey` is the key of the next version. */
export function addEvent(check: Check, expectedKey: Key, { key, event }: StoredEvent, history: History): void {
  const expect = (holds: boolean, message: string): void => check.expect(holds, 'event', key, message)
  const isNext = key === expectedKey && event.version === history.version + 1
  expect(isNext, `Version ${history.version + 1} is expected here`)
  const follows = event.first === history.first && event.prev === history.prev
  expect(follows, 'It does not follow the previous event')
  expect(event.time >= history.time, 'It is older than the previous event')
  for (const [name, value] of Object.entries(event.fields)) history.values.set(name, value)
  expect(canonicalJson(event.fields['action']) === actionOf(event), 'Its type is not the type that it commits to')
  expect(event.ownerName === (history.values.get('owner') ?? ''), 'Its owner is not the owner in its history')
  history.version = event.version
  history.first ??= event.txId
  history.createdAt ??= event.time
  history.prev = event.txId
  history.time = event.time
  history.changes[event.type] += 1
}

const actionOf = ({ type, updateType }: EventRecord): string =>
  canonicalJson({ type, ...(updateType !== undefined && { updateType }) })
