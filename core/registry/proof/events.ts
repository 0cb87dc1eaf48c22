import type { EvidenceId } from '../../api/ids.ts'
import { fromHex } from '../../bytes.ts'
import { RegistryError } from '../../errors.ts'
import { keys } from '../../store/keys.ts'
import { readRecord } from '../../store/read.ts'
import type { EventRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { entryOfTxId } from '../event/tx-id.ts'
import { hexInput } from '../input-forms.ts'
import { proveEntry, type LogProof } from './log-proof.ts'

/** An event of an evidence that exists. Throws `CORRUPT` if it is missing. */
export async function readEvent({ records }: Context, evidenceId: EvidenceId, version: number): Promise<EventRecord> {
  const event = await readRecord<EventRecord>(records, keys.event(evidenceId, version))
  if (event === undefined)
    throw new RegistryError(
      'CORRUPT',
      `Version ${version} of evidence ${evidenceId} is missing: restore the store from a backup`,
    )
  return event.record
}

/** The 32 bytes of a txId, `undefined` for any text that cannot be one. */
export function entryOf(txId: string): Uint8Array | undefined {
  const hex = hexInput(txId)
  return hex.length === 64 ? fromHex(hex) : undefined
}

/** The proof of an event, `undefined` until it is sealed. */
export async function proveEvent({ log }: Context, { txId }: Pick<EventRecord, 'txId'>): Promise<LogProof | undefined> {
  const [status] = await log.entryStatuses([entryOfTxId(txId)])
  return status && proveEntry(log, status)
}
