import Type, { type Static } from '#typebox'
import type { BatchPage as CoreBatchPage, BatchQuery as CoreBatchQuery } from '../../core/index.ts'
import { TILE_WIDTH } from '../../core/log/index.ts'
import { closed, Count, DateTime, defined, Hash, Id, opt, pageLength, pageQuery, SendStatus } from './values.ts'

const MAX_BATCHES = 200

/** A page of batches, the newest first. */
export const BatchQuery = closed({
  len: opt(pageLength(MAX_BATCHES)),
  last: opt(Type.String({ description: 'Id of the last batch that you have' })),
})

/** Pages have at most 200 batches, because each needs its stamp and its anchor. */
export const batchQuery = (query: Static<typeof BatchQuery>): CoreBatchQuery => pageQuery(query, MAX_BATCHES)

/** A sealed batch with the stamp and the anchor that cover it. They may be of a later batch. */
export const LogBatch = closed({
  batchId: Id,
  txidCount: Type.Integer({ minimum: 1, description: 'Entries of the batch' }),
  treeSize: Type.Integer({ minimum: 1, description: 'Entries of the log at the end of the batch' }),
  merkleRoot: Hash,
  createdAt: DateTime,
  sendStatus: SendStatus,
  tsa: opt(closed({ authority: Type.String(), genTime: DateTime }, { description: 'The first stamp that covers it' })),
  anchor: opt(
    closed(
      {
        network: Type.String(),
        txHash: Type.String(),
        blockNumber: Count,
        blockTime: DateTime,
      },
      { description: 'Of the confirmed anchors that cover it, the one in the lowest block' },
    ),
  ),
})
type LogBatch = Static<typeof LogBatch>

/** A page of the log's batches. */
export const BatchPage = closed({
  batches: Type.Array(LogBatch, { description: 'Newest first' }),
  isMore: Type.Boolean(),
})

/** Renames what the core names for itself. */
export const batchPage = ({ items, hasMore }: CoreBatchPage): Static<typeof BatchPage> => ({
  batches: items.map(({ id, size, root, stamp, anchor, ...batch }): LogBatch => ({
    ...batch,
    batchId: id,
    txidCount: size,
    merkleRoot: root,
    ...defined({ tsa: stamp, anchor }),
  })),
  isMore: hasMore,
})

/** A tile of the log as its path names it. */
export interface TilePath {
  readonly index: number
  /** 256 for a full tile. */
  readonly width: number
}

/**
 * Reads `<N>[.p/<W>]` as C2SP tlog-tiles writes it: groups of three digits, `x` before all but the last, no superfluous
 * zero group at the start; W is 1 to 255.
 *
 * @returns `undefined` for any other text
 */
export function parseTilePath(path: string): TilePath | undefined {
  const [, groups, last, width] = /^((?:x\d{3}\/){0,4})(\d{3})(?:\.p\/([1-9]\d{0,2}))?$/.exec(path) ?? []
  if (last === undefined || groups === undefined || groups.startsWith('x000/') || Number(width ?? 0) >= TILE_WIDTH)
    return undefined
  return {
    index: Number(groups.replaceAll(/[x/]/g, '') + last),
    width: width === undefined ? TILE_WIDTH : Number(width),
  }
}
