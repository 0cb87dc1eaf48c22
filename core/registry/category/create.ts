import type { NewCategory } from '../../api/categories.ts'
import type { CategoryId, SubcategoryId } from '../../api/ids.ts'
import type { WriteOptions } from '../../api/writes.ts'
import { keys } from '../../store/keys.ts'
import type { SubcategoryRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { idempotentCall } from '../idempotency.ts'
import type { AuthorizedScope } from '../permissions.ts'
import { IdToFind } from '../schemas.ts'
import { validate } from '../validation.ts'
import { write } from '../write.ts'
import { decideCategory, decideSubcategory, newCategory } from './creation.ts'
import { newCategorySchema } from './input.ts'
import { assertNameFree, readCategory } from './stored-category.ts'

export async function createCategory(
  context: Context,
  scope: AuthorizedScope,
  input: NewCategory,
  options: WriteOptions = {},
): Promise<{ readonly id: CategoryId }> {
  validate(newCategorySchema, input)
  const { companyId } = scope
  const call = idempotentCall(context, scope, options, { operation: 'createCategory', input })
  return write(context, call, async ({ now }) => {
    await assertNameFree(context, keys.categoryName(companyId, input.name))
    const record = newCategory<CategoryId>(context.ids, input, now)
    return { commit: decideCategory(companyId, record, input.image), result: { id: record.id } }
  })
}

interface NewSubcategory {
  readonly categoryId: string
  readonly input: NewCategory
}

export async function createSubcategory(
  context: Context,
  scope: AuthorizedScope,
  { categoryId, input }: NewSubcategory,
  options: WriteOptions = {},
): Promise<{ readonly id: SubcategoryId }> {
  validate(IdToFind, categoryId, 'categoryId')
  validate(newCategorySchema, input)
  const { companyId } = scope
  const { name, image } = input
  const call = idempotentCall(context, scope, options, { operation: 'createSubcategory', ids: [categoryId], input })
  return write(context, call, async ({ now }) => {
    const category = await readCategory(context, companyId, categoryId)
    await assertNameFree(context, keys.subcategoryName(categoryId, name))
    const record: SubcategoryRecord = { ...newCategory(context.ids, input, now), categoryId: category.record.id }
    const commit = decideSubcategory({
      companyId,
      record,
      categoryCheck: category.check,
      ...(image !== undefined && { image }),
    })
    return { commit, result: { id: record.id } }
  })
}
