import { concatBytes, fromHex, readU64, toHex, u64 } from '../../bytes.ts'
import type { EvidenceId, TxId } from '../../api/ids.ts'
import { OPENING_BYTES } from '../../commitment/event-format.ts'
import { RegistryError } from '../../errors.ts'

/** What is stored under a txId: the event's opening, and which event it is. */
export interface Transaction {
  /** 120 bytes. */
  readonly opening: Uint8Array
  readonly evidenceId: EvidenceId
  readonly version: number
}

const UUID_BYTES = 16

/** opening (120) ‖ the evidence's UUID (16) ‖ u64(version). */
export const encodeTransaction = ({ opening, evidenceId, version }: Transaction): Uint8Array =>
  concatBytes(opening, fromHex(evidenceId.replaceAll('-', '')) ?? new Uint8Array(UUID_BYTES), u64(version))

/** The inverse of `encodeTransaction`. */
export function decodeTransaction(bytes: Uint8Array): Transaction {
  const id = toHex(bytes.subarray(OPENING_BYTES, OPENING_BYTES + UUID_BYTES))
  const groups = [id.slice(0, 8), id.slice(8, 12), id.slice(12, 16), id.slice(16, 20), id.slice(20)]
  return {
    opening: bytes.slice(0, OPENING_BYTES),
    evidenceId: groups.join('-') as EvidenceId,
    version: readU64(bytes, OPENING_BYTES + UUID_BYTES),
  }
}

/** The 32 bytes of a stored txId: the log entry of its event. */
export function entryOfTxId(txId: TxId): Uint8Array {
  const entry = fromHex(txId)
  if (entry === undefined)
    throw new RegistryError('CORRUPT', `A stored txId is not hex: ${txId}. Restore the store from a backup`)
  return entry
}
