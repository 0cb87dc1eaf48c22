import type { BatchPage, BatchQuery, BatchSummary } from '../api/log.ts'
import { RegistryError } from '../errors.ts'
import { isId } from '../ids.ts'
import { sendStatusOf, type LogReader } from '../log/reader.ts'
import {
  type AnchorRecord,
  type BatchRecord,
  NO_ANCHORS,
  type AnchorHeadRecord,
  type StampRecord,
} from '../log/records.ts'
import { claimOf } from '../log/attestation-rules.ts'
import type { Context } from './context.ts'
import { uuidInput, validate } from '../schemas/validation.ts'
import { closed, IdToFind, limitSchema, opt } from '../schemas/fields.ts'
import type { RecordStore } from '../ports/index.ts'
import { decodeRecord, readFirstCovering, readOne, readAll, listEntries } from '../store/read.ts'
import { logKeys } from '../log/keys.ts'

/** A batch is covered by tokens of several KiB, so pages are shorter than those of other lists. */
const MAX_LIMIT = 200
const DEFAULT_LIMIT = 50

const batchQuerySchema = closed({
  limit: opt(limitSchema(MAX_LIMIT)),
  after: opt(IdToFind),
})

/** The sealed batches of the log, newest first. */
export async function batchPage(
  { records, log }: Pick<Context, 'records' | 'log'>,
  query: BatchQuery = {},
): Promise<BatchPage> {
  const { limit = DEFAULT_LIMIT, after } = validate(batchQuerySchema, query)
  const before = after === undefined ? Number.MAX_SAFE_INTEGER : (await requireBatch(log, after)).end
  const batches = await listBatches(records, { before, limit: limit + 1 })
  return { items: batches.slice(0, limit).map(summaryOf), hasMore: batches.length > limit }
}

/** Throws `BATCH_NOT_FOUND`. */
export async function requireBatch(log: LogReader, batchId: string): Promise<BatchRecord> {
  const id = uuidInput(batchId)
  const batch = isId(id) ? await log.batchById(id) : undefined
  if (batch === undefined) throw new RegistryError('BATCH_NOT_FOUND', 'There is no such batch')
  return batch
}

function summaryOf({ batch, head, stamp, anchor }: CoveredBatch): BatchSummary {
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

/** A batch, with the stamp and the anchor that cover it. */
export interface CoveredBatch {
  readonly batch: BatchRecord
  readonly head: AnchorHeadRecord
  readonly stamp: StampRecord | undefined
  readonly anchor: AnchorRecord | undefined
}

/** The newest batches that end before this tree size, newest first. Reads each stamp and each anchor once. */
export async function listBatches(
  records: RecordStore,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<readonly CoveredBatch[]> {
  const entries = await listEntries(records, { ...logKeys.batchesBefore(before), reverse: true, limit })
  const batches = entries.map((entry) => decodeRecord(entry))
  const sizes = batches.map(({ end }) => end)
  const [head = NO_ANCHORS, stamps, anchors] = await Promise.all([
    readOne(records, logKeys.anchorHead()),
    readFirstCovering(records, sizes, {
      rangeFrom: logKeys.stampsFrom,
      sizeOf: (stamp) => stamp.size,
    }),
    anchorsCovering(records, sizes),
  ])
  return batches.map((batch) => ({ batch, head, stamp: stamps.get(batch.end), anchor: anchors.get(batch.end) }))
}

/** For each tree size, of the confirmed anchors that cover it, the one in the lowest block. */
async function anchorsCovering(
  records: RecordStore,
  sizes: readonly number[],
): Promise<ReadonlyMap<number, AnchorRecord>> {
  const confirmed = await readFirstCovering(records, sizes, {
    rangeFrom: logKeys.confirmedAnchorsFrom,
    sizeOf: (anchor) => anchor.size,
  })
  const anchorSizes = [...new Set([...confirmed.values()].map(({ size }) => size))]
  const entries = await readAll(records, anchorSizes.map(logKeys.anchor))
  const anchors = new Map(anchorSizes.map((size, i) => [size, decodeRecord(entries[i])]))
  const covering = new Map<number, AnchorRecord>()
  for (const [size, { size: anchorSize }] of confirmed) {
    const anchor = anchors.get(anchorSize)
    if (anchor !== undefined) covering.set(size, anchor)
  }
  return covering
}
