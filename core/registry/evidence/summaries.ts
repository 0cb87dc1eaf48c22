import type { EvidenceSummary } from '../../api/evidence.ts'
import type { CompanyId, EvidenceId, TxId, IdText } from '../../api/scope.ts'
import { LogWindow, positionsWithin, readLogWindow } from '../../log/positions.ts'
import { keys, type StoredRecord } from '../../store/keys.ts'
import type { EvidenceRecord } from '../../store/records.ts'
import { danglingReference, readAll } from '../../store/read.ts'
import { decodeRecord } from '../../store/codec.ts'
import type { Context } from '../context.ts'
import { entryOfTxId } from '../../log/reader.ts'
import { evidenceCore } from './shown.ts'

/** The summaries of stored entries, in their order. Throws `CORRUPT` if one cannot be decoded. */
export async function summariesOf(
  context: Context,
  entries: readonly StoredRecord<EvidenceRecord>[],
): Promise<readonly EvidenceSummary[]> {
  const window = await readLogOfListed(context, entries)
  const evidences = entries.map((entry) => decodeRecord(entry))
  return summarize(context, evidences, window)
}

/** The records of evidences. They are never deleted, so a missing one is `CORRUPT`. */
export async function readListed(
  { records }: Context,
  companyId: CompanyId,
  ids: readonly IdText<EvidenceId>[],
): Promise<readonly StoredRecord<EvidenceRecord>[]> {
  const entries = await readAll(
    records,
    ids.map((id) => keys.evidence(companyId, id)),
  )
  return entries.map((entry, i) => {
    if (entry === undefined) throw danglingReference('A list', `evidence ${ids[i]}`)
    return entry
  })
}

/** The positions of fewer evidences are looked up in the time in which the window is read. */
const MIN_LISTED = 32

/**
 * The part of the log that has the events of most of these evidences: those of neighbours in a list mostly lie side by
 * side there. Looking up the positions of their events, by a hash, takes longer than reading their entries. Read it
 * before they are decoded, so that nothing is waited for between decoding a page and rendering it: the objects of
 * pages that wait are copied by the garbage collection.
 */
async function readLogOfListed(
  { records }: Context,
  entries: readonly StoredRecord<EvidenceRecord>[],
): Promise<LogWindow> {
  const middle = entries[entries.length >>> 1]
  if (middle === undefined || entries.length < MIN_LISTED) return LogWindow.EMPTY
  return readLogWindow(records, entryOfTxId(decodeRecord(middle).txId))
}

/**
 * The summaries of decoded evidences, in their order.
 *
 * @param window - see `readLogOfListed`
 */
export async function summarize(
  context: Context,
  evidences: readonly EvidenceRecord[],
  window = LogWindow.EMPTY,
): Promise<readonly EvidenceSummary[]> {
  const txIds = evidences.flatMap(({ txId, lastTxId }) => (lastTxId === txId ? [txId] : [txId, lastTxId]))
  const blocks = (await blocksOf(context, txIds, window)).values()
  return evidences.map((evidence) => {
    const block = blockMember(blocks.next().value)
    return Object.assign(evidenceCore(evidence), {
      eventCounts: evidence.changes,
      ...block,
      lastEvent: {
        recordedAt: new Date(evidence.lastAt),
        txId: evidence.lastTxId,
        ...(evidence.lastTxId === evidence.txId ? block : blockMember(blocks.next().value)),
      },
    })
  })
}

const blockMember = (blockNumber: number | undefined) => (blockNumber === undefined ? {} : { blockNumber })

/** The block that covers each txId; `undefined` without a confirmed anchor. */
async function blocksOf(
  { records, log }: Context,
  txIds: readonly TxId[],
  window: LogWindow,
): Promise<readonly (number | undefined)[]> {
  const entries = txIds.map(entryOfTxId)
  const [positions, anchors] = await Promise.all([positionsWithin(records, entries, window), log.anchors()])
  const inLog = positions.filter((position) => position !== undefined)
  const numbers = (await anchors.blocksOf(inLog)).values()
  return positions.map((position) => (position === undefined ? undefined : numbers.next().value))
}
