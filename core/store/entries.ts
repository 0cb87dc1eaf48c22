import { encodeUtf8, equalBytes } from '../bytes.ts'
import type { Key, Write } from '../ports/index.ts'
import { encodeRecord } from './codec.ts'
import type { RecordKey } from './keys.ts'
import type { EventRecord, EvidenceRecord, NameRecord } from './records.ts'

/** The entries that a commit writes: records, and what follows from them. */

/** An entry that follows from a record. */
export type DerivedEntry = Write & { readonly value: Uint8Array }

/** The write that stores a record. Those of evidences and events are in `core/store/evidence.ts`. */
export const putRecord = <T extends object>(
  key: RecordKey<T>,
  record: NoInfer<Exclude<T, EvidenceRecord | EventRecord>>,
): DerivedEntry => ({ key, value: encodeRecord(record) })

/** The value of an entry whose key says everything. */
const NO_VALUE = new Uint8Array()

/** The entry of a list. */
export const listEntry = (key: Key): DerivedEntry => ({ key, value: NO_VALUE })

/** The entry of a unique name. */
export const nameEntry = <Id extends string>(
  key: RecordKey<NameRecord<Id>>,
  { id }: { readonly id: NoInfer<Id> },
): DerivedEntry => putRecord(key, { id })

/** An entry that holds a text. */
export const textEntry = (key: Key, text: string): DerivedEntry => ({ key, value: encodeUtf8(text) })

/** The writes that bring the entries of a record from one state to the next. */
export function derivedWrites(before: readonly DerivedEntry[], after: readonly DerivedEntry[]): readonly Write[] {
  if (before.length === 0) return after
  const old = new Map(before.map(({ key, value }) => [key, value]))
  const changed = after.filter(({ key, value }) => {
    const oldValue = old.get(key)
    old.delete(key)
    return oldValue === undefined || !equalBytes(oldValue, value)
  })
  return [...changed, ...Array.from(old.keys(), (key) => ({ key, value: null }))]
}
