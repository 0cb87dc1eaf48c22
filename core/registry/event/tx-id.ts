import { fromHex } from '../../bytes.ts'
import type { TxId } from '../../api/ids.ts'
import { RegistryError } from '../../errors.ts'

/** The 32 bytes of a stored txId: the log entry of its event. */
export function entryOfTxId(txId: TxId): Uint8Array {
  const entry = fromHex(txId)
  if (entry === undefined)
    throw new RegistryError('CORRUPT', `A stored txId is not hex: ${txId}. Restore the store from a backup`)
  return entry
}
