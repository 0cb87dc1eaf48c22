import type { HistoryPage, HistoryQuery, EvidenceTextOptions } from '../../api/evidence.ts'
import type { Key, Version } from '../../ports/index.ts'
import { SecondUseMap } from '../../store/cache.ts'
import { decodeRecord } from '../../store/record-codec.ts'
import type { EvidenceRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import type { AuthorizedScope } from '../permissions.ts'
import { getEvidence, readHistory } from './get.ts'
import { readEvidenceEntry } from './stored-evidence.ts'

/** Default of `EvidenceTextOptions`. */
const MAX_KEPT_CHARS = 32 * 1024 * 1024
/** Of about a thousand characters each, half as many pages fit. */
const REMEMBERED_PAGES = 65_536

interface KeptPage<T> {
  /** The version of the evidence's record. */
  readonly version: Version
  /** See `ReadHistory`. */
  readonly confirmedSize: number
  readonly rendered: T
}

/**
 * Renders evidences with the first page of their history, and keeps those whose events are all confirmed, from the
 * second time on. Whether a kept one is still correct is read from the store, so another server may have changed the
 * evidence or the anchors.
 */
export class EvidencePages<T extends { readonly text: string }> {
  readonly #render: (page: HistoryPage) => T
  readonly #kept: SecondUseMap<Key, KeptPage<T>>

  constructor(render: (page: HistoryPage) => T, { maxKeptChars = MAX_KEPT_CHARS }: EvidenceTextOptions = {}) {
    this.#render = render
    this.#kept = new SecondUseMap(maxKeptChars, ({ rendered }) => rendered.text.length, REMEMBERED_PAGES)
  }

  async get(context: Context, scope: AuthorizedScope, externalId: string, query: HistoryQuery = {}): Promise<T> {
    if (Object.keys(query).length > 0) return this.#render(await getEvidence(context, scope, externalId, query))
    const entry = await readEvidenceEntry(context, scope, externalId)
    const { key, version } = entry
    const kept = this.#kept.get(key)
    if (kept?.version === version && kept.confirmedSize <= (await context.log.anchorHead()).confirmedSize)
      return kept.rendered
    const { page, confirmedSize } = await readHistory(context, decodeRecord<EvidenceRecord>(entry), {})
    const rendered = this.#render(page)
    if (confirmedSize !== undefined) this.#kept.set(key, () => ({ version, confirmedSize, rendered }))
    return rendered
  }
}
