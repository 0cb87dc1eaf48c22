import { logKeys } from '../core/log/keys.ts'
import { decodeRecord, encodeRecord } from '../core/store/record-codec.ts'
import type { ConfirmedAnchorRecord } from '../core/log/records.ts'
import type { Range, RecordStore, Write } from '../core/ports.ts'

/**
 * The writes that take a confirmed anchor into the staircase (core/log/records.ts): none where a larger one stands in the same or a
 * lower block, else its own step, and the end of every smaller one in the same or a higher block. To be committed with a check on the
 * anchor head, which every such commit changes.
 */
export async function addToFrontierWrites(
  records: RecordStore,
  confirmed: ConfirmedAnchorRecord,
): Promise<readonly Write[]> {
  const { size, blockNumber } = confirmed
  for await (const step of frontierAnchors(records, { ...logKeys.confirmedAnchorsFrom(size), limit: 1 }))
    if (step.blockNumber <= blockNumber) return []
  const writes: Write[] = [{ key: logKeys.confirmedAnchor(size), value: encodeRecord(confirmed) }]
  const below = { gte: logKeys.confirmedAnchorsFrom(0).gte, lt: logKeys.confirmedAnchor(size), reverse: true }
  for await (const step of frontierAnchors(records, below)) {
    // Blocks fall with sizes: the first lower one ends what is covered.
    if (step.blockNumber < blockNumber) break
    writes.push({ key: logKeys.confirmedAnchor(step.size), value: null })
  }
  return writes
}

/** The size of the largest step that is none of `except`, 0 where there is none. */
export async function largestFrontierSize(records: RecordStore, except: readonly number[]): Promise<number> {
  for await (const { size } of frontierAnchors(records, { ...logKeys.confirmedAnchorsFrom(0), reverse: true }))
    if (!except.includes(size)) return size
  return 0
}

/**
 * The writes that make the staircase right again after a reorganisation: the steps of `sizes` go, and `confirmed` are the anchors of
 * these sizes that stand, each with the block that it has now. Anchors of other sizes are in blocks below all of these.
 */
export async function rebuildFrontierWrites(
  records: RecordStore,
  sizes: readonly number[],
  confirmed: readonly ConfirmedAnchorRecord[],
): Promise<readonly Write[]> {
  const before: ConfirmedAnchorRecord[] = []
  for await (const step of frontierAnchors(records, logKeys.confirmedAnchorsFrom(Math.min(...sizes)))) before.push(step)
  const all = [...before.filter(({ size }) => !sizes.includes(size)), ...confirmed]
  const after = all.filter((step) => !all.some((other) => covers(other, step)))
  const writes = new Map<number, Write>()
  for (const { size } of before) writes.set(size, { key: logKeys.confirmedAnchor(size), value: null })
  for (const step of after)
    writes.set(step.size, { key: logKeys.confirmedAnchor(step.size), value: encodeRecord(step) })
  return [...writes.values()]
}

const covers = (other: ConfirmedAnchorRecord, step: ConfirmedAnchorRecord): boolean =>
  other.size > step.size && other.blockNumber <= step.blockNumber

async function* frontierAnchors(records: RecordStore, range: Range): AsyncIterable<ConfirmedAnchorRecord> {
  for await (const entry of records.list(range)) {
    const step = decodeRecord<ConfirmedAnchorRecord>(entry)
    if (step !== undefined) yield step
  }
}
