import type { HistoryPage, EvidenceTextOptions } from '../../api/evidence.ts'
import type { Evidences } from '../../api/evidences.ts'
import type { AnchorHeadRecord } from '../../log/records.ts'
import type { Key, Version } from '../../ports/index.ts'
import { SecondUseMap } from '../../store/cache.ts'
import { decodeRecord } from '../../store/read.ts'
import type { Context } from '../context.ts'
import { enterCompany } from '../permissions.ts'
import { type AnchorSizes, readEvidence, readEvidenceEntry, readHistory } from './get.ts'
import { historyQuerySchema, textOptionsSchema } from './input.ts'
import { validate } from '../../schemas/validation.ts'

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
 * As `getEvidence`, with what `render` makes of the page. Keeps that of first pages whose events are all in batches,
 * from the second time on. Whether a kept one is still correct is read from the store, so another server may have
 * changed the evidence or the anchors.
 */
export const evidencePages =
  (context: Context): Evidences['pages'] =>
  <T extends { readonly text: string }>(render: (page: HistoryPage) => T, options: EvidenceTextOptions = {}) => {
    const { maxKeptChars = MAX_KEPT_CHARS } = validate(textOptionsSchema, options)
    const textLength = ({ rendered }: KeptPage<T>): number => rendered.text.length
    const keptPages = new SecondUseMap<Key, KeptPage<T>>(maxKeptChars, textLength, REMEMBERED_PAGES)
    return async (scope, externalId, query = {}) => {
      const entered = await enterCompany(context, scope, 'R')
      if (Object.keys(query).length > 0) {
        const selection = validate(historyQuerySchema, query)
        const { record } = await readEvidence(context, entered, externalId)
        return render((await readHistory(context, record, selection)).page)
      }
      const entry = await readEvidenceEntry(context, entered, externalId)
      const { key, version } = entry
      const kept = keptPages.get(key)
      if (kept?.version === version && isWithin(kept.shownWith, (await context.log.anchors()).head))
        return kept.rendered
      const { page, shownWith } = await readHistory(context, decodeRecord(entry), {})
      const rendered = render(page)
      if (shownWith !== undefined) keptPages.set(key, () => ({ version, shownWith, rendered }))
      return rendered
    }
  }
