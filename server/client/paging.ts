import type { RequestOptions, RetryOptions } from './options.ts'
import { pauseBeforeRepetition, sleep } from './retry.ts'
import type { CompanyEvent, EventsPage, EvidenceEvent, EvidenceListItem, Operations } from './types.ts'

/** The filters of the list. `len` is the number of evidences that are requested together. */
export type EvidenceFilter = Omit<NonNullable<Parameters<Operations['listEvidences']>[0]>, 'last' | 'next'>

/** The evidence. `last` is the version after which to begin, `len` the number of events that are requested together. */
export type HistoryRequest = Parameters<Operations['getEvidence']>[0]

const PAGE_EVIDENCES = 1_000
const PAGE_EVENTS = 500

/**
 * `after`: the cursor after which to begin, or `latest`. Default: the first event. `wait`: how many seconds a request
 * is held at the end of the log. Default 30; with 0, the iteration ends there. `len`: as of `EvidenceFilter`.
 */
export type EventsRequest = NonNullable<Parameters<Operations['listEvents']>[0]>

type Reader = Pick<Operations, 'listEvidences' | 'getEvidence' | 'listEvents'>

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

const WAIT_S = 30

/**
 * Follows the events of a company. If it waits for new ones, it repeats a request that failed for a reason that may
 * pass until it succeeds: the server may be stopped for any time.
 */
export async function* companyEvents(
  operations: Reader,
  request: EventsRequest = {},
  { retry, ...options }: RequestOptions & { readonly retry: RetryOptions },
): AsyncGenerator<CompanyEvent, void, undefined> {
  const { wait = WAIT_S } = request
  const endless = { ...retry, retries: wait > 0 ? Infinity : 0, maxRetryAfterMs: Infinity }
  let { after } = request
  for (let repetitions = 0, isMore = true; isMore || wait > 0;) {
    try {
      const position = after === undefined ? {} : { after }
      const page: EventsPage = await operations.listEvents({ len: PAGE_EVENTS, ...request, wait, ...position }, options)
      yield* page.events
      after = page.cursor
      isMore = page.isMore
      repetitions = 0
    } catch (error) {
      const attempt = { error, repetitions: repetitions++, repeat: 'safe', random: Math.random } as const
      const pauseMs = pauseBeforeRepetition({ ...attempt, options: endless })
      if (pauseMs === undefined) throw error
      await sleep(pauseMs, options.signal)
    }
  }
}
