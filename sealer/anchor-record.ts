import { fromBase64, toBase64 } from '../core/bytes.ts'
import { RegistryError } from '../core/errors.ts'
import { logKeys } from '../core/log/keys.ts'
import type { AnchorRecord, AnchorTransaction } from '../core/log/records.ts'
import type { AnchorInfo, AnchorStatus, PreparedAnchor, Write } from '../core/ports/index.ts'
import { putRecord } from '../core/store/entries.ts'

type ConfirmedStatus = Extract<AnchorStatus, { readonly state: 'confirmed' }>

/** The write that stores an anchor. */
export const anchorWrite = (anchor: AnchorRecord): Write => putRecord(logKeys.anchor(anchor.size), anchor)

/** Whether two infos name the same chain. A transaction can only be polled on the chain that it was sent to. */
export const isSameChain = (a: AnchorInfo, b: AnchorInfo): boolean =>
  a.type === b.type && a.network === b.network && a.chainId === b.chainId

/** A stored transaction, decoded for the anchor port. Throws `CORRUPT` if its bytes are not base64. */
export function preparedOf({ ref, raw }: AnchorTransaction): PreparedAnchor {
  const bytes = fromBase64(raw)
  if (bytes === undefined) throw corruptError(`The stored bytes of anchor transaction ${ref} are not base64`)
  return { ref, raw: bytes }
}

/** The newest transaction of an anchor. Throws `CORRUPT` if there is none. */
export function lastTransactionOf({ size, transactions }: AnchorRecord): AnchorTransaction {
  const last = transactions.at(-1)
  if (last === undefined) throw corruptError(`The record of the anchor of size ${size} has no transaction`)
  return last
}

/** The error for an anchor record that is missing or damaged. */
export const corruptError = (what: string): RegistryError =>
  new RegistryError('CORRUPT', `${what}: restore the store from a backup`)

/** Finds the confirmed transaction of an anchor. `undefined` if there is none. */
export function confirmedBy(anchor: AnchorRecord, statuses: readonly AnchorStatus[]): AnchorConfirmedBy | undefined {
  for (const [i, { ref }] of anchor.transactions.entries()) {
    const status = statuses[i]
    if (status?.state === 'confirmed') return { anchor: withConfirmation(anchor, ref, status), ref, status }
  }
  return undefined
}

/** A confirmed transaction, and the anchor that it confirms. */
export interface AnchorConfirmedBy {
  /** The anchor in its new state. */
  readonly anchor: ConfirmedAnchor
  readonly ref: string
  readonly status: ConfirmedStatus
}

/** An anchor whose record names the block that confirmed it. */
export type ConfirmedAnchor = AnchorRecord & Required<Pick<AnchorRecord, 'confirmation'>>

function withConfirmation(anchor: AnchorRecord, ref: string, status: ConfirmedStatus): ConfirmedAnchor {
  const { blockNumber, blockHash, blockTime, confirmations, proof } = status
  const confirmation = { ref, blockNumber, blockHash, blockTime, confirmations, evidence: toBase64(proof) }
  return { ...anchor, state: 'confirmed', confirmation }
}

/** The anchor without its confirmation, after its block was removed from the chain. */
export function withoutConfirmation(anchor: AnchorRecord, state: 'sent' | 'lost'): AnchorRecord {
  const { confirmation: _, ...rest } = anchor
  return { ...rest, state }
}
