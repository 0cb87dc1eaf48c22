import { logKeys } from '../core/log/keys.ts'
import type { ConfirmedAnchorRecord } from '../core/log/records.ts'
import type { Range, RecordStore, Write } from '../core/ports/index.ts'
import { decodeRecord, encodeRecord } from '../core/store/record-codec.ts'

/**
 * The anchor frontier (`ConfirmedAnchorRecord` in core/log/records.ts): the confirmed anchors that no larger anchor in
 * the same or a lower block covers. In the order of sizes, block numbers rise.
 */

/**
 * Returns the writes that add a confirmed anchor to the frontier and remove the anchors that it covers. No writes if a
 * larger anchor covers it. Commit them with a check of the anchor head, which every such commit changes.
 */
export async function addToFrontierWrites(
  records: RecordStore,
  confirmed: ConfirmedAnchorRecord,
): Promise<readonly Write[]> {
  const { size, blockNumber } = confirmed
  for await (const larger of frontierAnchors(records, { ...logKeys.confirmedAnchorsFrom(size), limit: 1 }))
    if (larger.blockNumber <= blockNumber) return []
  const writes: Write[] = [putAnchor(confirmed)]
  const below = { gte: logKeys.confirmedAnchorsFrom(0).gte, lt: logKeys.confirmedAnchor(size), reverse: true }
  for await (const smaller of frontierAnchors(records, below)) {
    // From here down all block numbers are lower, so the new anchor covers none of them.
    if (smaller.blockNumber < blockNumber) break
    writes.push(deleteAnchor(smaller.size))
  }
  return writes
}

/** Returns the largest size in the frontier that is not in `excludedSizes`, 0 if there is none. */
export async function largestFrontierSize(records: RecordStore, excludedSizes: readonly number[]): Promise<number> {
  for await (const { size } of frontierAnchors(records, { ...logKeys.confirmedAnchorsFrom(0), reverse: true }))
    if (!excludedSizes.includes(size)) return size
  return 0
}

/**
 * Returns the writes that correct the frontier after a chain reorganization.
 *
 * `sizes` are the anchors whose blocks were checked, and `confirmed` those of them that are still confirmed, with their
 * present blocks. All other anchors are in lower blocks.
 */
export async function rebuildFrontierWrites(
  records: RecordStore,
  sizes: readonly number[],
  confirmed: readonly ConfirmedAnchorRecord[],
): Promise<readonly Write[]> {
  const before: ConfirmedAnchorRecord[] = []
  for await (const anchor of frontierAnchors(records, logKeys.confirmedAnchorsFrom(Math.min(...sizes))))
    before.push(anchor)
  const all = [...before.filter(({ size }) => !sizes.includes(size)), ...confirmed]
  const after = all.filter((anchor) => !all.some((other) => covers(other, anchor)))
  const writes = new Map<number, Write>()
  for (const { size } of before) writes.set(size, deleteAnchor(size))
  for (const anchor of after) writes.set(anchor.size, putAnchor(anchor))
  return [...writes.values()]
}

const putAnchor = (anchor: ConfirmedAnchorRecord): Write => ({
  key: logKeys.confirmedAnchor(anchor.size),
  value: encodeRecord(anchor),
})

const deleteAnchor = (size: number): Write => ({ key: logKeys.confirmedAnchor(size), value: null })

const covers = (other: ConfirmedAnchorRecord, anchor: ConfirmedAnchorRecord): boolean =>
  other.size > anchor.size && other.blockNumber <= anchor.blockNumber

async function* frontierAnchors(records: RecordStore, range: Range): AsyncIterable<ConfirmedAnchorRecord> {
  for await (const entry of records.list(range)) {
    const anchor = decodeRecord<ConfirmedAnchorRecord>(entry)
    if (anchor !== undefined) yield anchor
  }
}
