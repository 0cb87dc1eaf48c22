import type { RecordStore } from '../ports/index.ts'
import { decodeRecord } from '../store/record-codec.ts'
import { logKeys } from './keys.ts'
import {
  NO_ANCHORS,
  type AnchorHeadRecord,
  type AnchorRecord,
  type BatchRecord,
  type ConfirmedAnchorRecord,
  type StampRecord,
} from './records.ts'
import { readFirstCovering, readOne } from './record-reads.ts'

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
  const batches: BatchRecord[] = []
  for await (const entry of records.list({ ...logKeys.batchesBefore(before), reverse: true, limit }))
    batches.push(decodeRecord<BatchRecord>(entry))
  const sizes = batches.map(({ end }) => end)
  const [head = NO_ANCHORS, stamps, anchors] = await Promise.all([
    readOne<AnchorHeadRecord>(records, logKeys.anchorHead()),
    readFirstCovering<StampRecord>(records, sizes, {
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
  const confirmed = await readFirstCovering<ConfirmedAnchorRecord>(records, sizes, {
    rangeFrom: logKeys.confirmedAnchorsFrom,
    sizeOf: (anchor) => anchor.size,
  })
  const anchorSizes = [...new Set([...confirmed.values()].map(({ size }) => size))]
  const entries = await records.get(anchorSizes.map(logKeys.anchor))
  const anchors = new Map(anchorSizes.map((size, i) => [size, decodeRecord<AnchorRecord>(entries[i])]))
  const covering = new Map<number, AnchorRecord>()
  for (const [size, { size: anchorSize }] of confirmed) {
    const anchor = anchors.get(anchorSize)
    if (anchor !== undefined) covering.set(size, anchor)
  }
  return covering
}
