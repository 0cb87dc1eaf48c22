import type { EvidenceFileList, Evidences } from '../../api/evidences.ts'
import { enterCompany, type AuthorizedScope } from '../permissions.ts'
import type { Context } from '../context.ts'
import { listFiles } from '../file/stored-file.ts'
import { validate } from '../../schemas/validation.ts'
import { createEvidence, createEvidences } from './create.ts'
import { getEvidence, readEvidence } from './get.ts'
import { allEvidences, assertQuery, listEvidences } from './list.ts'
import { ListPages, MAX_KEPT_LIST_CHARS, EvidencePages, evidenceTexts } from './pages.ts'
import { textOptionsSchema } from './input.ts'
import { summaries } from './summaries.ts'
import { updateEvidence } from './update.ts'

export const evidenceOperations = (context: Context): Evidences => ({
  create: async (scope, input, options) =>
    createEvidence(context, await enterCompany(context, scope, 'I'), input, options),
  createMany: (scope, input, options) =>
    context.bulkCreates.run(async () =>
      createEvidences(context, await enterCompany(context, scope, 'I'), input, options),
    ),
  list: async (scope, query = {}) =>
    listEvidences(context, await enterCompany(context, scope, 'R'), { query, items: summaries }),
  texts: (render, options = {}) => {
    const { maxKeptChars = MAX_KEPT_LIST_CHARS } = validate(textOptionsSchema, options)
    const items = evidenceTexts(render)
    const pages = new ListPages(maxKeptChars)
    return async (scope, query = {}) => {
      const company = await enterCompany(context, scope, 'R')
      assertQuery(query)
      return pages.get(context, company.companyId, {
        query,
        read: () => listEvidences(context, company, { query, items }),
      })
    }
  },
  all: (scope, page) =>
    allEvidences(
      async (query) => listEvidences(context, await enterCompany(context, scope, 'R'), { query, items: summaries }),
      page,
    ),
  get: async (scope, externalId, query) =>
    getEvidence(context, await enterCompany(context, scope, 'R'), externalId, query),
  pages: (render, options = {}) => {
    const pages = new EvidencePages(render, validate(textOptionsSchema, options))
    return async (scope, externalId, query) =>
      pages.get(context, await enterCompany(context, scope, 'R'), externalId, query)
  },
  update: async (scope, externalId, change, options) =>
    updateEvidence(context, await enterCompany(context, scope, 'U'), { externalId, change }, options),
  files: async (scope, externalId) => listEvidenceFiles(context, await enterCompany(context, scope, 'R'), externalId),
})

async function listEvidenceFiles(
  context: Context,
  scope: AuthorizedScope,
  externalId: string,
): Promise<EvidenceFileList> {
  const { record } = await readEvidence(context, scope, externalId)
  const [evidence, category, subcategory] = await Promise.all([
    listFiles(context, record.id),
    listFiles(context, record.categoryId),
    listFiles(context, record.subcategoryId),
  ])
  return { evidence, category, subcategory }
}
