import type { EvidenceSummary } from '../../api/evidence.ts'
import type { EvidencePage, EvidenceQuery } from '../../api/evidence-lists.ts'

const PAGE_LENGTH = 500

/** Every item of a list that is read page by page. `list` reads one page. */
export async function* allEvidences(
  list: (query: EvidenceQuery) => Promise<EvidencePage>,
  query: EvidenceQuery = {},
): AsyncGenerator<EvidenceSummary, void, undefined> {
  let position: Pick<EvidenceQuery, 'after' | 'cursor'> | undefined = {}
  while (position !== undefined) {
    const page: EvidencePage = await list({ limit: PAGE_LENGTH, ...query, ...position })
    yield* page.items
    position = positionAfter(page)
  }
}

/** Filtered and sorted lists continue at `next`, other lists after their last evidence. */
function positionAfter({ items, hasMore, next }: EvidencePage): Pick<EvidenceQuery, 'after' | 'cursor'> | undefined {
  if (next !== undefined) return { cursor: next }
  const last = items.at(-1)
  return hasMore && last !== undefined ? { after: last.id } : undefined
}
