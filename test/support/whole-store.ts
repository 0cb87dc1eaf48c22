import assert from 'node:assert/strict'
import { fsck, type Difference, type FsckStores } from '../../core/ops/index.ts'
import type { RecordStore } from '../../core/ports/index.ts'
import { listEntries } from '../../core/store/read.ts'

/** Every record. */
export const entriesOf = (records: RecordStore) => listEntries(records, { gte: '', lt: '\x7f' })

/** Every difference that `fsck` reports. */
export async function differencesIn(stores: FsckStores): Promise<readonly Difference[]> {
  const differences: Difference[] = []
  const report = await fsck(stores, { onDifference: (difference) => differences.push(difference) })
  assert.equal(report.differences, differences.length)
  return differences
}
