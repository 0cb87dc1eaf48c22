import type { EvidenceSummary } from '../../api/evidence.ts'
import type { EvidenceText, EvidenceTextOptions } from '../../api/evidence-lists.ts'
import type { EvidenceId } from '../../api/ids.ts'
import type { Entry, Key, Version } from '../../ports/index.ts'
import { BoundedMap } from '../../store/bounded-map.ts'
import { lastPartOfKey } from '../../store/key.ts'
import { decodeRecord } from '../../store/record-codec.ts'
import type { EvidenceRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { summarize, type ListItems } from './summaries.ts'

/** Default of `EvidenceTextOptions`. */
export const MAX_KEPT_CHARS = 16 * 1024 * 1024

interface KeptText {
  /** The version of the evidence's record. */
  readonly version: Version
  readonly text: string
}

/**
 * Renders the summaries of evidences, and keeps the texts. A summary follows from the evidence's record and from the
 * confirmed anchors. So a text is correct as long as the record and the head of the anchors have the versions that they
 * had when it was made, whichever server has changed them.
 */
export class EvidenceTexts implements ListItems<EvidenceText> {
  readonly #render: (summary: EvidenceSummary) => string
  readonly #kept: BoundedMap<Key, KeptText>
  #anchorVersion: Version | undefined

  constructor(
    render: (summary: EvidenceSummary) => string,
    { maxKeptChars = MAX_KEPT_CHARS }: EvidenceTextOptions = {},
  ) {
    this.#render = render
    this.#kept = new BoundedMap(maxKeptChars, ({ text }) => text.length)
  }

  async ofEntries(context: Context, entries: readonly Entry[]): Promise<readonly EvidenceText[]> {
    const anchorVersion = await context.log.anchorVersion()
    if (anchorVersion !== this.#anchorVersion) this.#kept.clear()
    this.#anchorVersion = anchorVersion
    const texts = new Map<Key, string>()
    for (const { key, version } of entries) {
      const kept = this.#kept.get(key)
      if (kept?.version === version) texts.set(key, kept.text)
    }
    const missing = entries.filter(({ key }) => !texts.has(key))
    const made = await this.#textsOf(context, missing.map(decodeEvidence))
    for (const [i, { key, version }] of missing.entries()) {
      const text = made[i] ?? ''
      texts.set(key, text)
      // Another list may have noticed a new anchor meanwhile.
      if (anchorVersion === this.#anchorVersion) this.#kept.set(key, { version, text })
    }
    return entries.map(({ key }) => ({ id: lastPartOfKey(key) as EvidenceId, text: texts.get(key) ?? '' }))
  }

  async ofRecords(context: Context, records: readonly EvidenceRecord[]): Promise<readonly EvidenceText[]> {
    const texts = await this.#textsOf(context, records)
    return records.map(({ id }, i) => ({ id, text: texts[i] ?? '' }))
  }

  async #textsOf(context: Context, records: readonly EvidenceRecord[]): Promise<readonly string[]> {
    return records.length === 0 ? [] : (await summarize(context, records)).map(this.#render)
  }
}

const decodeEvidence = (entry: Entry): EvidenceRecord => decodeRecord<EvidenceRecord>(entry)
