import type { EvidenceSummary } from '../../api/evidence.ts'
import type { EvidenceText, EvidenceTextOptions } from '../../api/evidence-lists.ts'
import type { EvidenceId } from '../../api/ids.ts'
import type { LogWindow } from '../../log/log-window.ts'
import type { Entry, Version } from '../../ports/index.ts'
import { BoundedMap } from '../../store/bounded-map.ts'
import type { EvidenceRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import type { ListState } from './list-pages.ts'
import { decodeEvidence, readListed, readLogOfListed, summarize, type ListItems } from './summaries.ts'

/** Default of `EvidenceTextOptions`. */
export const MAX_KEPT_CHARS = 32 * 1024 * 1024

interface KeptText {
  /** The version of the evidence's record. */
  readonly version: Version
  /** The size that the log had before the record was read. */
  readonly logSize: number
  readonly text: string
}

/** An evidence of a list with its kept text, if there is one. */
interface ListedText {
  readonly id: EvidenceId
  readonly known: KeptText | undefined
}

const idsOf = (listed: readonly ListedText[]): readonly EvidenceId[] => listed.map(({ id }) => id)

type KeptTexts = BoundedMap<EvidenceId, KeptText>

const keptTexts = (maxChars: number): KeptTexts => new BoundedMap(maxChars, ({ text }) => text.length)

/**
 * Renders the summaries of evidences, and keeps the texts. A summary follows from the evidence's record and from the
 * confirmed anchors. So a text is correct as long as the record and the head of the anchors have the versions that they
 * had when it was made, whichever server has changed them. Every change of a record appends an event to the log, so
 * records are read only if the log has grown.
 */
export class EvidenceTexts {
  readonly #render: (summary: EvidenceSummary) => string
  readonly #maxKeptChars: number
  #kept: KeptTexts
  #anchorVersion: Version | undefined

  constructor(
    render: (summary: EvidenceSummary) => string,
    { maxKeptChars = MAX_KEPT_CHARS }: EvidenceTextOptions = {},
  ) {
    this.#render = render
    this.#maxKeptChars = maxKeptChars
    this.#kept = keptTexts(maxKeptChars)
  }

  /** The items of a list that is read after `state` was. */
  at(state: ListState): ListItems<EvidenceText> {
    return {
      ofListed: (context, ids) => this.#ofListed(context, ids, state),
      ofRecords: async (context, records) => {
        const texts = await this.#textsOf(context, records)
        return records.map(({ id }, i) => ({ id, text: texts[i] ?? '' }))
      },
    }
  }

  async #ofListed(
    context: Context,
    ids: readonly EvidenceId[],
    { logSize, anchorVersion }: ListState,
  ): Promise<readonly EvidenceText[]> {
    if (anchorVersion !== this.#anchorVersion) this.#kept = keptTexts(this.#maxKeptChars)
    this.#anchorVersion = anchorVersion
    // A list that is read with another anchor meanwhile gets other texts.
    const kept = this.#kept
    const texts = new Map<EvidenceId, string>()
    const others: ListedText[] = []
    for (const id of ids) {
      const known = kept.get(id)
      if (known?.logSize === logSize) texts.set(id, known.text)
      else others.push({ id, known })
    }
    for (const { id, version, text } of await this.#read(context, others)) {
      texts.set(id, text)
      kept.set(id, { version, logSize, text })
    }
    return ids.map((id) => ({ id, text: texts.get(id) ?? '' }))
  }

  /** Reads the records, and renders those whose version is not the one of the known text. */
  async #read(
    context: Context,
    listed: readonly ListedText[],
  ): Promise<readonly (EvidenceText & Pick<KeptText, 'version'>)[]> {
    if (listed.length === 0) return []
    const unknown = listed.filter(({ known }) => known === undefined)
    const [entries, window] = await Promise.all([
      readListed(context, idsOf(listed)),
      readLogOfListed(context, idsOf(unknown)),
    ])
    const changed = entries.filter(({ version }, i) => listed[i]?.known?.version !== version)
    const made = (await this.#textsOf(context, changed.map(decodeEvidence), window)).values()
    return listed.map(({ id, known }, i) => {
      const { version } = entries[i] as Entry
      return { id, version, text: known?.version === version ? known.text : (made.next().value ?? '') }
    })
  }

  async #textsOf(context: Context, records: readonly EvidenceRecord[], window?: LogWindow): Promise<readonly string[]> {
    return records.length === 0 ? [] : (await summarize(context, records, window)).map(this.#render)
  }
}
