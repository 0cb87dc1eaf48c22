import type { BatchPage, BatchQuery, BatchSummary } from '../api/log.ts'
import { RegistryError } from '../errors.ts'
import { isId } from '../ids.ts'
import { listBatches, type CoveredBatch } from '../log/batch-list.ts'
import { sendStatusOf, type LogReader } from '../log/reader.ts'
import type { AnchorRecord, BatchRecord } from '../log/records.ts'
import { claimOf } from '../log/stamp-claim.ts'
import type { Context } from './context.ts'
import { uuidInput } from './input-forms.ts'
import { closed, IdToFind, limitSchema, opt } from '../schemas/fields.ts'
import { validate } from '../schemas/validation.ts'

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
