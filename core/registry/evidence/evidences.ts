import type { Evidences } from '../../api/evidences.ts'
import { CategoryResolver } from '../category/resolve.ts'
import type { Context } from '../context.ts'
import { eraseEvidence } from '../erasure/erase.ts'
import { listErasures } from '../erasure/list.ts'
import { createEvidence, createEvidences } from './create.ts'
import { eventFeed } from './feed.ts'
import { getEvidenceIfChanged } from './get.ts'
import { listEvidenceFiles } from './files.ts'
import { allEvidences, listEvidences, listEvidencesIfChanged } from './list.ts'
import { readOverview } from './overview.ts'
import { publicStatus } from './public-status.ts'
import { updateEvidence } from './update.ts'

/** The operations on evidences. Their contract is `Evidences`. */
export function evidenceOperations(context: Context): Evidences {
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
    erasures: listErasures(context),
    files: listEvidenceFiles(context),
    overview: readOverview(context, list),
    publicStatus: publicStatus(context),
    ...eventFeed(context),
  }
}
