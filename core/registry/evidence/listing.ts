import type { RecordStore } from '../../ports/index.ts'
import { lastPartOfKey } from '../../store/key.ts'
import { keys } from '../../store/keys.ts'

/** A list of evidences in the store: of a company or a subcategory. A category has none, its subcategories have. */
export type Listing = Parameters<typeof keys.evidencesIn>

interface ListingPage {
  /** Only ids that are smaller, so older. */
  readonly after: string | undefined
  readonly limit: number
}

/** The newest ids of several listings, merged in descending order. No id is in two of them. */
export async function newestIds(
  records: RecordStore,
  listings: readonly Listing[],
  page: ListingPage,
): Promise<readonly string[]> {
  const iterators = listings.map((listing) => idsOf(records, listing, page))
  try {
    const heads = await Promise.all(iterators.map((iterator) => nextOf(iterator)))
    const ids: string[] = []
    while (ids.length < page.limit) {
      const newest = indexOfGreatest(heads)
      const [id, iterator] = [heads[newest], iterators[newest]]
      if (id === undefined || iterator === undefined) break
      ids.push(id)
      heads[newest] = await nextOf(iterator)
    }
    return ids
  } finally {
    await Promise.all(iterators.map((iterator) => iterator.return(undefined)))
  }
}

async function* idsOf(
  records: RecordStore,
  listing: Listing,
  { after, limit }: ListingPage,
): AsyncGenerator<string, undefined> {
  const { gte, lt } = keys.evidencesIn(...listing)
  const end = after === undefined ? lt : keys.evidenceIn(...listing, after)
  for await (const { key } of records.list({ gte, lt: end, reverse: true, limit })) yield lastPartOfKey(key)
  return undefined
}

const nextOf = async (ids: AsyncGenerator<string, undefined>): Promise<string | undefined> => (await ids.next()).value

/** The index of the greatest text, 0 if there is none. */
function indexOfGreatest(texts: readonly (string | undefined)[]): number {
  let greatest = 0
  for (const [i, text] of texts.entries()) if (text !== undefined && text > (texts[greatest] ?? '')) greatest = i
  return greatest
}
