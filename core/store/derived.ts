import { equalBytes } from '../bytes.ts'
import type { Write } from '../ports/index.ts'
import { keys } from './keys.ts'
import { putRecord } from './record-codec.ts'
import type { CategoryRecord, NameRecord } from './records.ts'

/** An entry of the store that follows from a record. */
export type DerivedEntry = Write & { readonly value: Uint8Array }

/** The value of an entry that says everything with its key. */
export const NO_VALUE = new Uint8Array()

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

/** The name of a category, and its entry in the list of its siblings. */
export const categoryEntries = (company: string, { id, parentId, name }: CategoryRecord): readonly DerivedEntry[] => [
  putRecord(keys.categoryName(company, parentId, name), { id } satisfies NameRecord),
  { key: keys.categoryIn(company, parentId, id), value: NO_VALUE },
]
