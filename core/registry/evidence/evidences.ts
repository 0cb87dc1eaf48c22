import type { Evidences } from '../../api/evidences.ts'
import type { Background } from '../../background.ts'
import { CategoryResolver } from '../category/resolve.ts'
import type { Context } from '../context.ts'
import { eraseEvidence } from '../erasure/erase.ts'
import { listErasures, readErasure } from '../erasure/list.ts'
import { eraseSubject } from '../erasure/subject.ts'
import { createEvidence, createEvidences } from './create.ts'
import { eventFeed } from './feed.ts'
import { getEvidenceIfChanged } from './get.ts'
import { listEvidenceFiles } from './files.ts'
import { allEvidences, listEvidences, listEvidencesIfChanged } from './list.ts'
import { readOverview } from './overview.ts'
import { publicStatus } from './public-status.ts'
import { updateEvidence } from './update.ts'

/** The operations on evidences. Their contract is `Evidences`. `subjects`: erases them. */
export function evidenceOperations(context: Context, subjects: Background): Evidences {
  const categories = new CategoryResolver(context)
  const list = listEvidences(context)
  const getIfChanged = getEvidenceIfChanged(context)
  return {
    create: createEvidence(context, categories),
    createMany: createEvidences(context, categories),
    list,
    listIfChanged: listEvidencesIfChanged(context),
    all: allEvidences(list),
    get: (scope, externalId, query = {}) => getIfChanged<never>(scope, externalId, query, undefined),
    getIfChanged,
    update: updateEvidence(context),
    erase: eraseEvidence(context),
    eraseSubject: eraseSubject(context, subjects),
    erasure: readErasure(context),
    erasures: listErasures(context),
    files: listEvidenceFiles(context),
    overview: readOverview(context, list),
    publicStatus: publicStatus(context),
    ...eventFeed(context),
  }
}
