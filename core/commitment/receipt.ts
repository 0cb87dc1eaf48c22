import { concatBytes, sha256OfText } from '../bytes.ts'
import { canonicalJson } from './canonical-json.ts'
import { tag } from './event-format.ts'

/**
 * The receipt of an erasure: what the registry states that it erased, in a log entry of its own. The entry contains no
 * text, only a salted hash of the receipt, so that only who is given the receipt can read it there.
 *
 *     receipt = H(T("er1.receipt") ‖ salt ‖ J({by, erased, log, reason, time, v: 1}))
 *     opening = T("er1.erasure") ‖ receipt     48 bytes
 */

/** The tag of an erasure's opening. */
export const ERASURE_TAG = tag('er1.erasure')
const RECEIPT = tag('er1.receipt')

/** Why something was erased. */
export const ERASURE_REASONS = ['request', 'retention', 'court', 'mistake', 'other'] as const
export type ErasureReason = (typeof ERASURE_REASONS)[number]

/** What was erased of one event: names of its fields and ids of its files, each in the order of UTF-16 code units. */
export interface ErasedOfEvent {
  readonly fields: readonly string[]
  readonly files: readonly string[]
  readonly txId: string
}

/** What a receipt says. */
export interface Erasure {
  /** Who erased: the id of a source system, or `operator`. */
  readonly by: string
  /** By ascending version of the events. */
  readonly erased: readonly ErasedOfEvent[]
  /** The log's origin. */
  readonly log: string
  readonly reason: ErasureReason
  /** Ms since 1970. */
  readonly time: number
}

/** J of an erasure: the text of its receipt. */
export const receiptText = ({ by, erased, log, reason, time }: Erasure): string =>
  canonicalJson({ by, erased: erased.map(statedOf), log, reason, time, v: 1 })

/** What a receipt states of an event. Ignores other members. */
export const statedOf = ({ fields, files, txId }: ErasedOfEvent): ErasedOfEvent => ({ fields, files, txId })

/** The hash of a receipt's text with its salt (32 bytes), 32 bytes. */
export const receiptHash = (salt: Uint8Array, text: string): Uint8Array => sha256OfText(text, RECEIPT, salt)

/** The opening of an erasure whose receipt has this hash (32 bytes), 48 bytes. */
export const erasureOpening = (hash: Uint8Array): Uint8Array => concatBytes(ERASURE_TAG, hash)
