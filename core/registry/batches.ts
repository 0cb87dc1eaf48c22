import type { BatchPage, BatchSummary } from '../api/log.ts'
import { BatchQuery } from '../schemas/proof-inputs.ts'
import { RegistryError } from '../errors.ts'
import { isId } from '../ids.ts'
import { sendStatusOf, type LogReader } from '../log/reader.ts'
import type { AnchorHeadRecord, AnchorRecord, BatchRecord, StampRecord } from '../log/records.ts'
import { claimOf } from '../log/attestation-rules.ts'
import type { Context } from './context.ts'
import { uuidInput, validate } from '../schemas/validation.ts'
import type { RecordStore } from '../ports/index.ts'
import { decodeRecord } from '../store/codec.ts'
import { readFirstCovering } from '../log/covering-records.ts'
import { readAll, listEntries } from '../store/read.ts'
import { logKeys } from '../log/keys.ts'

const DEFAULT_LIMIT = 50

/** The sealed batches of the log, newest first. Reads each stamp and each anchor that covers them once. */
export async function batchPage(
  { records, log }: Pick<Context, 'records' | 'log'>,
  query: BatchQuery = {},
): Promise<BatchPage> {
  const { limit = DEFAULT_LIMIT, after } = validate(BatchQuery, query)
  const before = after === undefined ? Number.MAX_SAFE_INTEGER : (await requireBatch(log, after)).end
  const entries = await listEntries(records, { ...logKeys.batchesBefore(before), reverse: true, limit: limit + 1 })
  const batches = entries.slice(0, limit).map((entry) => decodeRecord(entry))
  const sizes = batches.map(({ end }) => end)
  const [head, stamps, anchorOf] = await Promise.all([
    log.anchorHead(),
    stampsCovering(records, sizes),
    anchorsCovering(records, sizes),
  ])
  const items = batches.map((batch) => summaryOf(batch, head, stamps(batch.end), anchorOf(batch.end)))
  return { items, hasMore: entries.length > limit }
}

const sizeOf = ({ size }: { readonly size: number }): number => size

/** Throws `BATCH_NOT_FOUND`. */
export async function requireBatch(log: LogReader, batchId: string): Promise<BatchRecord> {
  const id = uuidInput(batchId)
  const batch = isId(id) ? await log.batchById(id) : undefined
  if (batch === undefined) throw new RegistryError('BATCH_NOT_FOUND', 'There is no such batch')
  return batch
}

function summaryOf(
  batch: BatchRecord,
  head: AnchorHeadRecord,
  stamp: StampRecord | undefined,
  anchor: AnchorRecord | undefined,
): BatchSummary {
  const token = stamp && claimOf(stamp)?.token
  return {
    id: batch.id,
    size: batch.end - batch.start,
    treeSize: batch.end,
    root: batch.root,
    createdAt: new Date(batch.createdAt),
    sendStatus: sendStatusOf(batch, head),
    ...(token && { stamp: { authority: token.authority, genTime: new Date(token.genTime) } }),
    ...(anchor && anchorMember(anchor)),
  }
}

function anchorMember({ info, confirmation }: AnchorRecord): Pick<BatchSummary, 'anchor'> {
  if (confirmation === undefined) return {}
  const { ref, blockNumber, blockTime } = confirmation
  return { anchor: { network: info.network, txHash: ref, blockNumber, blockTime: new Date(blockTime) } }
}

/** For each tree size, the stamp that proofs show (`LogReader.shownStamp`). */
async function stampsCovering(
  records: RecordStore,
  sizes: readonly number[],
): Promise<(size: number) => StampRecord | undefined> {
  const whole = await readFirstCovering(records, sizes, { rangeFrom: logKeys.stampsFrom, sizeOf })
  const others = sizes.filter((size) => !whole.has(size))
  const partial = await readFirstCovering(records, others, { rangeFrom: logKeys.partialStampsFrom, sizeOf })
  return (size) => whole.get(size) ?? partial.get(size)
}

/** For each tree size, of the confirmed anchors that cover it, the one in the lowest block. */
async function anchorsCovering(
  records: RecordStore,
  sizes: readonly number[],
): Promise<(size: number) => AnchorRecord | undefined> {
  const confirmed = await readFirstCovering(records, sizes, { rangeFrom: logKeys.confirmedAnchorsFrom, sizeOf })
  const found = [...new Set([...confirmed.values()].map(sizeOf))]
  const entries = await readAll(records, found.map(logKeys.anchor))
  const anchors = new Map(found.map((size, i) => [size, decodeRecord(entries[i])]))
  return (size) => {
    const anchor = confirmed.get(size)
    return anchor && anchors.get(anchor.size)
  }
}
