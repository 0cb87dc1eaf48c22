import { fromBase64, toBase64 } from '../core/bytes.ts'
import { RegistryError } from '../core/errors.ts'
import { logKeys } from '../core/log/keys.ts'
import { encodeRecord } from '../core/store/record-codec.ts'
import type { AnchorConfirmation, AnchorRecord, AnchorTransaction } from '../core/log/records.ts'
import type { AnchorInfo, AnchorStatus, PreparedAnchor, Write } from '../core/ports.ts'

export type ConfirmedStatus = Extract<AnchorStatus, { readonly state: 'confirmed' }>

export const anchorWrite = (anchor: AnchorRecord): Write => ({
  key: logKeys.anchor(anchor.size),
  value: encodeRecord(anchor),
})

/** Whether two name one chain: what was sent on another cannot be asked after on this one. */
export const isSameChain = (a: AnchorInfo, b: AnchorInfo): boolean =>
  a.type === b.type && a.network === b.network && a.chainId === b.chainId

/** A stored transaction as the chain takes it. Throws `CORRUPT` where its bytes are none. */
export function preparedOf({ ref, raw }: AnchorTransaction): PreparedAnchor {
  const bytes = fromBase64(raw)
  if (bytes === undefined)
    throw new RegistryError(
      'CORRUPT',
      `The stored bytes of anchor transaction ${ref} are not base64: restore the store from a backup`,
    )
  return { ref, raw: bytes }
}

/** The anchor as it is once the chain has confirmed one of its transactions. */
export function withConfirmation(anchor: AnchorRecord, ref: string, status: ConfirmedStatus): AnchorRecord {
  const { blockNumber, blockHash, blockTime, confirmations } = status
  const confirmation: AnchorConfirmation = {
    ref,
    blockNumber,
    blockHash,
    blockTime,
    confirmations,
    evidence: toBase64(status.proof),
  }
  return { ...anchor, state: 'confirmed', confirmation }
}

/** The anchor as it is once its block is no longer the chain's. */
export function withoutConfirmation(anchor: AnchorRecord, state: 'sent' | 'lost'): AnchorRecord {
  const { confirmation: _, ...rest } = anchor
  return { ...rest, state }
}
