import type { Check } from './check.ts'
import type { RecordRange, StoredRecord } from '../../store/keys.ts'
import { listEntries } from '../../store/read.ts'

/** Records that are read together, with those to which they refer. */
export const PAGE_RECORDS = 128

/** The records of a range, in pages. Between two pages no iterator is open. */
export async function* pagesOf<T>(
  check: Check,
  range: RecordRange<T>,
): AsyncGenerator<readonly StoredRecord<T>[], void, undefined> {
  for (let { gte } = range; ;) {
    const page: readonly StoredRecord<T>[] = await listEntries<T>(check.records, { ...range, gte, limit: PAGE_RECORDS })
    if (page.length > 0) yield page
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_RECORDS) return
    gte = `${last.key}\0`
  }
}
