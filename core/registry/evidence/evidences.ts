import type { Evidences } from '../../api/evidences.ts'
import { CategoryResolver } from '../category/resolve.ts'
import type { Context } from '../context.ts'
import { createEvidence, createEvidences } from './create.ts'
import { listEvents, nextEvent } from './feed.ts'
import { getEvidence, listEvidenceFiles } from './get.ts'
import { allEvidences, listEvidences, listEvidenceTexts } from './list.ts'
import { readOverview } from './overview.ts'
import { evidencePages } from './pages.ts'
import { updateEvidence } from './update.ts'

/** The operations on evidences. Their contract is `Evidences`. */
export function evidenceOperations(context: Context): Evidences {
  const categories = new CategoryResolver(context)
  const list = listEvidences(context)
  return {
    create: createEvidence(context, categories),
    createMany: createEvidences(context, categories),
    list,
    texts: listEvidenceTexts(context),
    all: allEvidences(list),
    get: getEvidence(context),
    pages: evidencePages(context),
    update: updateEvidence(context),
    files: listEvidenceFiles(context),
    overview: readOverview(context, list),
    events: listEvents(context),
    nextEvent: nextEvent(context),
  }
}
