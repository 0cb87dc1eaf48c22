import assert from 'node:assert/strict'
import { fsck, type Difference, type FsckStores } from '../../core/ops/index.ts'
import type { RecordStore } from '../../core/ports/index.ts'
import { keyedHashOf } from '../../core/log/identity.ts'
import { logKeys } from '../../core/log/keys.ts'
import { decodeRecord } from '../../core/store/codec.ts'
import type { KeyedHash } from '../../core/store/keys.ts'
import { listEntries, readAll } from '../../core/store/read.ts'
import { present } from './present.ts'

/** Every record. */
export const entriesOf = (records: RecordStore) => listEntries(records, { gte: '', lt: '\x7f' })

/** The hash of owners in the keys of a store. */
export async function keyedHashIn(records: RecordStore): Promise<KeyedHash> {
  const [identity] = await readAll(records, [logKeys.identity()])
  return keyedHashOf(decodeRecord(present(identity)))
}

/** Every difference that `fsck` reports. */
export async function differencesIn(stores: FsckStores): Promise<readonly Difference[]> {
  const differences: Difference[] = []
  const report = await fsck(stores, { onDifference: (difference) => differences.push(difference) })
  assert.equal(report.differences, differences.length)
  return differences
}
