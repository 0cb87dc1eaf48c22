import { equalBytes } from '../bytes.ts'
import {
  ERASURE_REASONS,
  erasureOpening,
  receiptHash,
  type ErasedOfEvent,
  type Erasure,
  type ErasureReason,
} from '../commitment/receipt.ts'
import { verificationError } from '../errors.ts'
import type { BundleClaims, Unchecked } from './claims.ts'
import type { ShownBundle, ShownReceipt } from './shown.ts'
import {
  asArray,
  asCount,
  asHash,
  asObject,
  asObjects,
  assertMembers,
  asString,
  parseUntrustedJson,
  type UntrustedObject,
} from './untrusted.ts'

/** The receipts of erasures in a bundle. */

/** A receipt and what it states, if the bundle shows that. */
export interface VerifiedReceipt {
  readonly shown: ShownReceipt
  readonly erasure: Erasure | undefined
}

/** Verifies what receipts state: it hashes to their entries, and names events of the bundle. */
export function verifyReceipts({ receipts, events, origin }: ShownBundle): readonly VerifiedReceipt[] {
  const txIds = new Set(events.map(({ txId }) => txId))
  return receipts.map((shown) => {
    const erasure = erasureIn(shown)
    const isOwn = erasure?.log === origin && erasure.erased.some(({ txId }) => txIds.has(txId))
    if (erasure !== undefined && !isOwn)
      throw verificationError('receipt.other-subject', 'A receipt is of another log, or names no event of the bundle')
    return { shown, erasure }
  })
}

function erasureIn({ opening, statement }: ShownReceipt): Erasure | undefined {
  if (statement === undefined) return undefined
  const { text, salt } = statement
  if (!equalBytes(erasureOpening(receiptHash(salt, text)), opening))
    throw verificationError('receipt.text-differs', 'The text of a receipt does not hash to its entry')
  return parseErasure(text)
}

const WHAT = 'The text of a receipt'
const REASONS: ReadonlySet<unknown> = new Set(ERASURE_REASONS)
const isReason = (reason: unknown): reason is ErasureReason => REASONS.has(reason)

/** Its hash was checked, so that it is read as it was committed to. */
function parseErasure(text: string): Erasure {
  const receipt = asObject(parseUntrustedJson(text, WHAT), WHAT)
  assertMembers(receipt, ['by', 'erased', 'log', 'reason', 'time', 'v'], WHAT)
  const { reason, v } = receipt
  if (v !== 1 || !isReason(reason))
    throw verificationError('receipt.malformed', `${WHAT} must have the version 1 and a known reason`)
  return {
    by: asString(receipt['by'], WHAT),
    erased: asObjects(receipt['erased'], WHAT).map(erasedOf),
    log: asString(receipt['log'], WHAT),
    reason,
    time: asCount(receipt['time'], WHAT),
  }
}

function erasedOf(erased: UntrustedObject): ErasedOfEvent {
  assertMembers(erased, ['fields', 'files', 'txId'], WHAT)
  const { fields, files } = erased
  const txId = asString(erased['txId'], WHAT)
  asHash(txId, WHAT)
  const textsOf = (value: unknown): readonly string[] => asArray(value, WHAT).map((text) => asString(text, WHAT))
  return { fields: textsOf(fields), files: textsOf(files), txId }
}

const COPIES =
  'A receipt says nothing about earlier backups, replicas and WAL of the database, or earlier versions in the bucket'

/** What receipts do not prove. */
export function doubtsOn({ events, receipts }: Pick<BundleClaims, 'events' | 'receipts'>): readonly Unchecked[] {
  if (receipts.length === 0) return []
  const doubts = [{ what: 'copies of what was erased', why: COPIES }]
  if (receipts.some(({ erasure }) => erasure === undefined))
    doubts.push({ what: 'what was erased', why: 'Only a bundle that was made with an A key shows it' })
  const shown = new Map(events.map((event) => [event.txId, event]))
  const isShown = ({ txId, fields, files }: ErasedOfEvent): boolean =>
    fields.some((name) => shown.get(txId)?.fields.has(name)) || files.some((id) => shown.get(txId)?.files.has(id))
  const contradicted = receipts.flatMap(({ erasure }) => erasure?.erased ?? []).find(isShown)
  if (contradicted !== undefined)
    doubts.push({
      what: `the erasure in the event ${contradicted.txId}`,
      why: 'The bundle discloses what a receipt says was erased',
    })
  return doubts
}
