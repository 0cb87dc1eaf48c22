import type { Evidences } from '../../api/evidences.ts'
import type { Context } from '../context.ts'
import { listFiles } from '../file/stored-file.ts'
import { enterCompany } from '../permissions.ts'
import { readEvidence } from './find.ts'

/** The files of an evidence, its category and its subcategory. */
export const listEvidenceFiles =
  (context: Context): Evidences['files'] =>
  async (scope, externalId) => {
    const { record } = await readEvidence(context, await enterCompany(context, scope, 'R'), externalId)
    const { company } = record
    const [evidence, category, subcategory] = await Promise.all([
      listFiles(context, company, record.id),
      listFiles(context, company, record.categoryId),
      listFiles(context, company, record.subcategoryId),
    ])
    return { evidence, category, subcategory }
  }
