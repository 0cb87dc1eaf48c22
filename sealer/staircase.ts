import { keys } from '../core/keys.ts'
import { decodeRecord, encodeRecord } from '../core/log/record-json.ts'
import type { ConfirmedAnchorRecord } from '../core/log/records.ts'
import type { Range, RecordStore, Write } from '../core/ports.ts'

/**
 * The writes that take a confirmed anchor into the staircase (core/log/records.ts): none where a larger one stands in the same or a
 * lower block, else its own step, and the end of every smaller one in the same or a higher block. To be committed with a check on the
 * anchor head, which every such commit changes.
 */
export async function staircaseWrites(
  records: RecordStore,
  confirmed: ConfirmedAnchorRecord,
): Promise<readonly Write[]> {
  const { size, blockNumber } = confirmed
  for await (const step of steps(records, { ...keys.confirmedAnchorsFrom(size), limit: 1 }))
    if (step.blockNumber <= blockNumber) return []
  const writes: Write[] = [{ key: keys.confirmedAnchor(size), value: encodeRecord(confirmed) }]
  const below = { gte: keys.confirmedAnchorsFrom(0).gte, lt: keys.confirmedAnchor(size), reverse: true }
  for await (const step of steps(records, below)) {
    // Blocks fall with sizes: the first lower one ends what is covered.
    if (step.blockNumber < blockNumber) break
    writes.push({ key: keys.confirmedAnchor(step.size), value: null })
  }
  return writes
}

async function* steps(records: RecordStore, range: Range): AsyncIterable<ConfirmedAnchorRecord> {
  for await (const entry of records.list(range)) {
    const step = decodeRecord<ConfirmedAnchorRecord>(entry)
    if (step !== undefined) yield step
  }
}
