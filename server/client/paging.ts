import type { RequestOptions } from './options.ts'
import type { EvidenceEvent, EvidenceListItem, Operations } from './types.ts'

/** The filters of the list. `len` is the number of evidences that are requested together. */
export type EvidenceFilter = Omit<NonNullable<Parameters<Operations['listEvidences']>[0]>, 'last' | 'next'>

/** The evidence. `last` is the version after which to begin, `len` the number of events that are requested together. */
export type HistoryRequest = Parameters<Operations['getEvidence']>[0]

const PAGE_EVIDENCES = 1_000
const PAGE_EVENTS = 500

type Reader = Pick<Operations, 'listEvidences' | 'getEvidence'>

/** Reads a list page by page, as long as the caller goes on. */
export async function* evidencePages(
  operations: Reader,
  filter: EvidenceFilter = {},
  options?: RequestOptions,
): AsyncGenerator<EvidenceListItem, void, undefined> {
  for (let position: { readonly last?: string; readonly next?: string } | undefined = {}; position !== undefined;) {
    const page: EvidenceListPage = await operations.listEvidences(
      { len: PAGE_EVIDENCES, ...filter, ...position },
      options,
    )
    yield* page.dts
    position = positionAfter(page)
  }
}

/** Lists that are filtered or sorted continue at `next`, other lists after their last evidence. */
interface EvidenceListPage {
  readonly dts: readonly EvidenceListItem[]
  readonly isMore?: boolean
  readonly next?: string
}

function positionAfter({ dts, isMore, next }: EvidenceListPage): { last?: string; next?: string } | undefined {
  if (next !== undefined) return { next }
  const last = dts.at(-1)?.id
  return isMore === true && last !== undefined ? { last } : undefined
}

/** Reads a history page by page, as long as the caller goes on. */
export async function* historyPages(
  operations: Reader,
  request: HistoryRequest,
  options?: RequestOptions,
): AsyncGenerator<EvidenceEvent, void, undefined> {
  for (let last = request.last ?? 0, isMore = true; isMore;) {
    const page = await operations.getEvidence({ len: PAGE_EVENTS, ...request, last }, options)
    yield* page.events
    last = page.lastVersion
    isMore = page.isMore && page.events.length > 0
  }
}
