import { fromHex } from '../../bytes.ts'
import type { EventRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { logStatusesOf } from '../event/log-status.ts'
import { entryOfTxId } from '../event/tx-id.ts'
import { hexInput } from '../input-forms.ts'
import type { LogProof } from './document.ts'
import { proveEntry } from './log-proof.ts'

/** The 32 bytes of a txId, `undefined` for any text that cannot be one. */
export function entryOf(txId: string): Uint8Array | undefined {
  const hex = hexInput(txId)
  return hex.length === 64 ? fromHex(hex) : undefined
}

/** The proof of a stored event, `undefined` until it is sealed. */
export async function proveEvent(context: Context, { txId }: Pick<EventRecord, 'txId'>): Promise<LogProof | undefined> {
  const [status] = await logStatusesOf(context.log, [txId])
  return status && proveEntry(context, entryOfTxId(txId), status)
}
