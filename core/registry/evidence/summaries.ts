import type { EvidenceSummary } from '../../api/evidence.ts'
import type { EvidenceId, TxId } from '../../api/ids.ts'
import { LogWindow } from '../../log/log-window.ts'
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
  async ofListed(context, ids) {
    const [entries, window] = await Promise.all([readListed(context, ids), readLogOfListed(context, ids)])
    return summarize(context, entries.map(decodeEvidence), window)
  },
  ofRecords: (context, records) => summarize(context, records),
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

/** The positions of fewer evidences are looked up in the time in which the window is read. */
const MIN_LISTED = 32

/**
 * The part of the log that has the events of most of these evidences: those of neighbours in a list mostly lie side by
 * side there. Looking up the positions of their events, by a hash, takes longer than reading their records. Read it
 * beside the records, so that nothing is waited for between decoding a page and rendering it: the objects of pages
 * that wait are copied by the garbage collection.
 */
export async function readLogOfListed(context: Context, ids: readonly EvidenceId[]): Promise<LogWindow> {
  const middle = ids[ids.length >>> 1]
  if (middle === undefined || ids.length < MIN_LISTED) return LogWindow.EMPTY
  const [entry] = await context.records.get([keys.evidence(middle)])
  return entry === undefined ? LogWindow.EMPTY : context.log.windowAround(entryOfTxId(decodeEvidence(entry).txId))
}

/** @param window - see `readLogOfListed` */
export async function summarize(
  context: Context,
  records: readonly EvidenceRecord[],
  window = LogWindow.EMPTY,
): Promise<readonly EvidenceSummary[]> {
  const txIds = records.flatMap(({ txId, lastTxId }) => (lastTxId === txId ? [txId] : [txId, lastTxId]))
  const blocks = (await blocksOf(context, txIds, window)).values()
  return records.map((record) => {
    const block = blockMember(blocks.next().value)
    return Object.assign(evidenceCore(record), {
      eventCounts: record.changes,
      ...block,
      lastEvent: {
        recordedAt: new Date(record.lastAt),
        txId: record.lastTxId,
        ...(record.lastTxId === record.txId ? block : blockMember(blocks.next().value)),
      },
    })
  })
}

const blockMember = (blockNumber: number | undefined) => (blockNumber === undefined ? {} : { blockNumber })

/** The block that covers each txId; `undefined` without a confirmed anchor. */
async function blocksOf(
  { log }: Context,
  txIds: readonly TxId[],
  window: LogWindow,
): Promise<readonly (number | undefined)[]> {
  const [positions, anchorVersion] = await Promise.all([
    log.positionsOf(txIds.map(entryOfTxId), window),
    log.anchorVersion(),
  ])
  const inLog = positions.filter((position) => position !== undefined)
  const numbers = (await log.blockNumbersOf(inLog, anchorVersion)).values()
  return positions.map((position) => (position === undefined ? undefined : numbers.next().value))
}
