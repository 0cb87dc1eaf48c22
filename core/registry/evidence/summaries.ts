import type { EvidenceSummary } from '../../api/evidence.ts'
import type { EvidenceId, TxId } from '../../api/ids.ts'
import type { Entry } from '../../ports/index.ts'
import { keys } from '../../store/keys.ts'
import { danglingReference } from '../../store/read.ts'
import { decodeRecord } from '../../store/record-codec.ts'
import type { EvidenceRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { entryOfTxId } from '../event/tx-id.ts'
import { evidenceCore } from './stored-evidence.ts'

/** How the evidences of a list are returned, in the order of the list. */
export interface ListItems<Item> {
  /** The items of stored evidences. Throws `CORRUPT` if one is missing. */
  ofListed(context: Context, ids: readonly EvidenceId[]): Promise<readonly Item[]>
  /** The items of evidences whose records are decoded already. */
  ofRecords(context: Context, records: readonly EvidenceRecord[]): Promise<readonly Item[]>
}

/** Returns the summaries. */
export const summaries: ListItems<EvidenceSummary> = {
  ofListed: async (context, ids) => summarize(context, (await readListed(context, ids)).map(decodeEvidence)),
  ofRecords: summarize,
}

/** The stored records of listed evidences. Evidences are never deleted, so a missing one is `CORRUPT`. */
export async function readListed({ records }: Context, ids: readonly EvidenceId[]): Promise<readonly Entry[]> {
  const entries = await records.get(ids.map((id) => keys.evidence(id)))
  return entries.map((entry, i) => {
    if (entry === undefined) throw danglingReference('A list', `evidence ${ids[i]}`)
    return entry
  })
}

export const decodeEvidence = (entry: Entry): EvidenceRecord => decodeRecord<EvidenceRecord>(entry)

export async function summarize(
  context: Context,
  records: readonly EvidenceRecord[],
): Promise<readonly EvidenceSummary[]> {
  const blocks = await blocksOf(context, new Set(records.flatMap(({ txId, lastTxId }) => [txId, lastTxId])))
  return records.map((record) =>
    Object.assign(evidenceCore(record), {
      eventCounts: record.changes,
      ...blockMember(blocks.get(record.txId)),
      lastEvent: {
        recordedAt: new Date(record.lastAt),
        txId: record.lastTxId,
        ...blockMember(blocks.get(record.lastTxId)),
      },
    }),
  )
}

const blockMember = (blockNumber: number | undefined) => (blockNumber === undefined ? {} : { blockNumber })

/** The block that covers each txId. A txId without a confirmed anchor is left out. */
async function blocksOf({ records, log }: Context, txIds: ReadonlySet<TxId>): Promise<ReadonlyMap<TxId, number>> {
  const ids = [...txIds]
  const [positions, anchorVersion] = await Promise.all([records.positionsOf(ids.map(entryOfTxId)), log.anchorVersion()])
  const inLog = ids.flatMap((txId, i) => {
    const position = positions[i]
    return position === undefined ? [] : [{ txId, position }]
  })
  const numbers = await log.blockNumbersOf(
    inLog.map(({ position }) => position),
    anchorVersion,
  )
  const blocks = new Map<TxId, number>()
  for (const [i, { txId }] of inLog.entries()) {
    const block = numbers[i]
    if (block !== undefined) blocks.set(txId, block)
  }
  return blocks
}
