import type { CompanyId, EvidenceId, TxId } from '../../api/scope.ts'
import { toHex } from '../../bytes.ts'
import { assertFieldNames, SALT_BYTES, txIdOf } from '../../commitment/event-format.ts'
import { encodeEventPayload } from '../../log/payload.ts'
import { randomBytes } from '../../platform/node.ts'
import type { LogAppend } from '../../ports/index.ts'
import type { EventRecord } from '../../store/records.ts'
import { bindEvent, type EventHead } from './opening.ts'
import { saltedBy, type WrittenFields } from './salted.ts'

/** An event to make. */
export interface EventDraft extends EventHead, Pick<EventRecord, 'type' | 'updateType' | 'files'> {
  readonly company: CompanyId
  readonly evidenceId: EvidenceId
  readonly fields: WrittenFields
}

/** The random values of an event, 32 bytes each. */
export interface EventSecrets {
  /** Of all events of the evidence. */
  readonly slotKey: Uint8Array
  /** Of the salts of this event alone. A retry must draw another one, so that no salt is used twice. */
  readonly seed: Uint8Array
}

/** New random values. */
export const newSecret = (): Uint8Array => randomBytes(SALT_BYTES)

/** Makes the log entry of an event, which commits to it. */
export function makeEvent(draft: EventDraft, origin: string, { slotKey, seed }: EventSecrets): LogAppend {
  assertFieldNames(draft.fields)
  const { opening } = bindEvent(draft, saltedBy(seed, draft), origin, slotKey)
  return { entry: txIdOf(opening), payload: encodeEventPayload(opening, draft) }
}

/** The txId of an event whose log entry this is (32 bytes). */
// eslint-disable-next-line typescript/no-unsafe-type-assertion -- the hex of 32 bytes
export const txIdOfEntry = (entry: Uint8Array): TxId => toHex(entry) as TxId
