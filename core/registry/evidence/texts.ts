import type { EvidenceSummary, EvidenceText } from '../../api/evidence.ts'
import { summaries, type ListItems } from './summaries.ts'

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
