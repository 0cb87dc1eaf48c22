import type { EvidencePage, EvidenceQuery, EvidenceSummary } from '../../api/evidences.ts'

const PAGE_LENGTH = 500

/** Every item of a list that is read page by page. `list` reads one page. */
export async function* allEvidences(
  list: (query: EvidenceQuery) => Promise<EvidencePage>,
  query: EvidenceQuery = {},
): AsyncGenerator<EvidenceSummary, void, undefined> {
  let { after } = query
  for (;;) {
    const page = await list({ limit: PAGE_LENGTH, ...query, ...(after !== undefined && { after }) })
    yield* page.items
    const last = page.items.at(-1)
    if (!page.hasMore || last === undefined) return
    after = last.id
  }
}
