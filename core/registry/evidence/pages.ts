import type {
  HistoryPage,
  HistoryQuery,
  EvidenceTextOptions,
  EvidencePage,
  EvidenceQuery,
  EvidenceText,
  EvidenceSummary,
} from '../../api/evidence.ts'
import type { Evidences } from '../../api/evidences.ts'
import type { AnchorHeadRecord } from '../../log/records.ts'
import type { Key, Version } from '../../ports/index.ts'
import { SecondUseMap } from '../../store/cache.ts'
import { decodeRecord } from '../../store/read.ts'
import type { Context } from '../context.ts'
import { type AuthorizedScope, enterCompany } from '../permissions.ts'
import { type AnchorSizes, readEvidence, readEvidenceEntry, readHistory } from './get.ts'
import { historyQuerySchema, textOptionsSchema } from './input.ts'
import { validate } from '../../schemas/validation.ts'
import type { CompanyId } from '../../api/scope.ts'
import { summaries, type ListItems } from './summaries.ts'

/** Default of `EvidenceTextOptions`. */
const MAX_KEPT_CHARS = 32 * 1024 * 1024
/** Of about a thousand characters each, half as many pages fit. */
const REMEMBERED_PAGES = 65_536

interface KeptPage<T> {
  /** The version of the evidence's record. */
  readonly version: Version
  readonly shownWith: AnchorSizes
  readonly rendered: T
}

const isWithin = (range: AnchorSizes, { confirmedSize, sentSize }: AnchorHeadRecord): boolean =>
  confirmedSize >= range.confirmedFrom &&
  confirmedSize < range.confirmedBelow &&
  sentSize >= range.sentFrom &&
  sentSize < range.sentBelow

/**
 * Renders evidences with the first page of their history, and keeps those whose events are all in batches, from the
 * second time on. Whether a kept one is still correct is read from the store, so another server may have changed the
 * evidence or the anchors.
 */
class EvidencePages<T extends { readonly text: string }> {
  readonly #render: (page: HistoryPage) => T
  readonly #kept: SecondUseMap<Key, KeptPage<T>>

  constructor(render: (page: HistoryPage) => T, { maxKeptChars = MAX_KEPT_CHARS }: EvidenceTextOptions = {}) {
    this.#render = render
    this.#kept = new SecondUseMap(maxKeptChars, ({ rendered }) => rendered.text.length, REMEMBERED_PAGES)
  }

  /** The rendered page of a history. Other pages than the first one are not kept. */
  async get(context: Context, scope: AuthorizedScope, externalId: string, query: HistoryQuery = {}): Promise<T> {
    if (Object.keys(query).length > 0) {
      const selection = validate(historyQuerySchema, query)
      const { record } = await readEvidence(context, scope, externalId)
      return this.#render((await readHistory(context, record, selection)).page)
    }
    const entry = await readEvidenceEntry(context, scope, externalId)
    const { key, version } = entry
    const kept = this.#kept.get(key)
    if (kept?.version === version && isWithin(kept.shownWith, await context.log.anchorHead())) return kept.rendered
    const { page, shownWith } = await readHistory(context, decodeRecord(entry), {})
    const rendered = this.#render(page)
    if (shownWith !== undefined) this.#kept.set(key, () => ({ version, shownWith, rendered }))
    return rendered
  }
}

/** As `getEvidence`, and keeps what was rendered of first pages. */
export const evidencePages =
  (context: Context): Evidences['pages'] =>
  (render, options = {}) => {
    const pages = new EvidencePages(render, validate(textOptionsSchema, options))
    return async (scope, externalId, query) =>
      pages.get(context, await enterCompany(context, scope, 'R'), externalId, query)
  }

type TextPage = EvidencePage<EvidenceText>

/** Default of `EvidenceTextOptions`. */
export const MAX_KEPT_LIST_CHARS = 8 * 1024 * 1024

interface KeptList {
  /** The size of the log. */
  readonly logSize: number
  /** Of the head of the anchors. `undefined` before the first anchor. */
  readonly anchorVersion: Version | undefined
  readonly page: TextPage
  /** What it counts for the limit. */
  readonly chars: number
}

/** What an item takes beside its text, in characters. */
const ITEM_OVERHEAD = 100
/** What a page takes beside its key and its items, in characters. A page without items counts, too. */
const PAGE_OVERHEAD = 200

/**
 * Keeps pages of lists while nothing changes, from the second time on that they are read. Every change of an evidence
 * appends an event to the log, whichever server makes it, and the blocks in a page follow from the confirmed anchors.
 * So a page is correct as long as the size of the log and the head of the anchors are those from before it was read.
 */
export class ListPages {
  readonly #kept: SecondUseMap<string, KeptList>

  /** @param maxKeptChars Characters of all kept pages and of their queries together. At least 2. */
  constructor(maxKeptChars: number) {
    this.#kept = new SecondUseMap(maxKeptChars, ({ chars }) => chars)
  }

  /** @param query - valid, because queries that differ only in what is not valid may have the same page */
  async get(
    { records, log }: Context,
    companyId: CompanyId,
    { query, read }: { readonly query: EvidenceQuery; readonly read: () => Promise<TextPage> },
  ): Promise<TextPage> {
    const [logSize, anchorVersion] = await Promise.all([records.logSize(), log.anchorVersion()])
    const key = JSON.stringify([companyId, query])
    const kept = this.#kept.get(key)
    if (kept?.logSize === logSize && kept.anchorVersion === anchorVersion) return kept.page
    const page = await read()
    this.#kept.set(key, () => ({ logSize, anchorVersion, page, chars: key.length + charsOf(page) }))
    return page
  }
}

const charsOf = ({ items, next = '' }: TextPage): number =>
  items.reduce((chars, { text }) => chars + text.length + ITEM_OVERHEAD, PAGE_OVERHEAD + next.length)

/**
 * Renders the summaries of evidences. Texts are not kept for each evidence: with more evidences than fit, that takes
 * longer than rendering them again, and costs 1.4 times the CPU time of a page.
 */
export function evidenceTexts(render: (summary: EvidenceSummary) => string): ListItems<EvidenceText> {
  const textsOf = (found: readonly EvidenceSummary[]): readonly EvidenceText[] =>
    found.map((summary) => ({ id: summary.id, text: render(summary) }))
  return {
    ofEntries: async (context, entries) => textsOf(await summaries.ofEntries(context, entries)),
    ofListed: async (context, evidences) => textsOf(await summaries.ofListed(context, evidences)),
  }
}
