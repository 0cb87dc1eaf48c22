import type { TxId } from '../../api/ids.ts'
import { RegistryError } from '../../errors.ts'
import type { EntryStatus, LogReader } from '../../log/reader.ts'
import { entryOfTxId } from './tx-id.ts'

/**
 * The status of stored events in the log. The commit that stores an event also appends it to the log. So one that is
 * not found there is not waiting for a batch: the store has lost its position. Throws `CORRUPT` then.
 */
export async function logStatusesOf(log: LogReader, txIds: readonly TxId[]): Promise<readonly EntryStatus[]> {
  const statuses = await log.entryStatuses(txIds.map(entryOfTxId))
  return statuses.map((status, i) => {
    if (status === undefined)
      throw new RegistryError('CORRUPT', `The stored event ${txIds[i]} is not in the log: run fsck`)
    return status
  })
}
