import type { Categories } from '../../api/categories.ts'
import { NewCategory } from '../../schemas/category-inputs.ts'
import type { StagedFile } from '../../schemas/file-inputs.ts'
import type { CategoryId, CompanyId, FileId } from '../../api/scope.ts'
import type { IdSource } from '../../ids.ts'
import type { Check } from '../../ports/index.ts'
import { categoryEntries } from '../../store/derived.ts'
import { keys } from '../../store/keys.ts'
import { putRecord } from '../../store/entries.ts'
import type { CategoryRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { givenFiles } from '../file/given-files.ts'
import { attachFiles } from '../file/stored-file.ts'
import { enterCompany } from '../permissions.ts'
import type { Attempt, CommitPart } from '../write.ts'
import { IdToFind } from '../../schemas/fields.ts'
import { validate } from '../../schemas/validation.ts'
import { assertCategoryNameFree, fileOwner, readCategory } from './stored-category.ts'

/** How categories are created: by a request of their own, or by the first evidence in them. */

/** Creates a category, or a subcategory of `parent`. It holds while the name is free and the parent as it was read. */
export const createCategory =
  (context: Context): Categories['create'] =>
  async (scope, input, { parent, ...options } = {}) => {
    const entered = await enterCompany(context, scope, 'I')
    if (parent !== undefined) validate(IdToFind, parent, 'categoryId')
    validate(NewCategory, input)
    const { companyId } = entered
    const named =
      parent === undefined
        ? ({ operation: 'createCategory' } as const)
        : ({ operation: 'createSubcategory', ids: [parent] } as const)
    return context.write({ scope: entered, options, ...named, input }, async (attempt) => {
      const category = parent === undefined ? undefined : await readCategory(context, companyId, 'category', parent)
      const { name, description } = input
      const { image, files } = givenFiles(input)
      const draft = { name, description, imageId: image?.id, parentId: category?.record.id }
      const record = newCategory(context.ids, draft, attempt.now)
      await assertCategoryNameFree(context, companyId, record)
      const commit = decideCategory(companyId, record, attempt, { parent: category?.check, files })
      return { commit, result: { id: record.id } }
    })
  }

interface CategoryDraft {
  readonly parentId?: CategoryId | undefined
  readonly name: string
  readonly description?: string | undefined
  readonly imageId?: FileId | undefined
}

/** The record of a new category. */
export const newCategory = (
  ids: IdSource,
  { parentId, name, description = '', imageId }: CategoryDraft,
  now: number,
): CategoryRecord => ({
  id: ids.next(),
  ...(parentId !== undefined && { parentId }),
  name,
  status: 'active',
  version: 1,
  createdAt: now,
  ...(description !== '' && { description }),
  ...(imageId !== undefined && { imageId }),
})

interface CategoryUses {
  /** Makes sure that the parent still exists; not needed if the same commit creates it. */
  readonly parent?: Check | undefined
  readonly files?: readonly StagedFile[]
}

/** Creates a category. The commit holds while the name is free and the parent is as it was read. */
export function decideCategory(
  companyId: CompanyId,
  record: CategoryRecord,
  attempt: Attempt,
  { parent, files = [] }: CategoryUses = {},
): CommitPart {
  const { id, parentId, name } = record
  const attached = attachFiles(files, fileOwner(companyId, record), attempt)
  const named = { key: keys.categoryName(companyId, parentId, name), version: null }
  return {
    checks: [named, ...(parent === undefined ? [] : [parent]), ...attached.checks],
    writes: [
      putRecord(keys.category(companyId, id), record),
      ...categoryEntries(companyId, record),
      ...attached.writes,
    ],
    adds: [{ key: keys.categoryCount(companyId, parentId), delta: 1 }, ...attached.adds],
  }
}
