import type { EvidencePage, EvidenceQuery, EvidenceText } from '../../api/evidence.ts'
import type { CompanyId } from '../../api/scope.ts'
import type { Version } from '../../ports/index.ts'
import { SecondUseMap } from '../../store/cache.ts'
import type { Context } from '../context.ts'

type TextPage = EvidencePage<EvidenceText>

/** Default of `EvidenceTextOptions`. */
export const MAX_KEPT_LIST_CHARS = 8 * 1024 * 1024

interface KeptPage {
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
  readonly #kept: SecondUseMap<string, KeptPage>

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
