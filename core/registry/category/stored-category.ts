import type { CategoryPath, SubcategoryPath } from '../../schemas/category-inputs.ts'
import type { CompanyId } from '../../api/scope.ts'
import { RegistryError } from '../../errors.ts'
import { isId } from '../../ids.ts'
import type { RecordStore } from '../../ports/index.ts'
import { keys } from '../../store/keys.ts'
import { assertNeverStored, readRecord, readReferred, type Read } from '../../store/read.ts'
import type { CategoryRecord, FileOwner } from '../../store/records.ts'
import type { Context } from '../context.ts'

/** A category has no parent, a subcategory has one. */
export type Level = 'category' | 'subcategory'

const NOT_FOUND = {
  category: ['CATEGORY_NOT_FOUND', 'There is no such category in this company'],
  subcategory: ['SUBCATEGORY_NOT_FOUND', 'There is no such subcategory in this category'],
} as const

function notFound(level: Level): RegistryError {
  const [code, message] = NOT_FOUND[level]
  return new RegistryError(code, message)
}

/**
 * The category or subcategory with this id. `parentId`: the category in which it is looked for. Throws `CORRUPT` if the
 * store has lost it.
 */
export async function findCategory(
  records: RecordStore,
  companyId: CompanyId,
  id: string,
  parentId?: string,
): Promise<Read<CategoryRecord> | undefined> {
  const key = keys.category(companyId, id)
  const read = await readRecord(records, key)
  if (read !== undefined || !isId(id)) return read
  const beside = [
    ...[undefined, parentId].map((parent) => keys.categoryIn(companyId, parent, id)),
    keys.categoryCount(companyId, id),
    keys.evidenceCount(['sub', companyId, id]),
  ]
  await assertNeverStored(records, key, { beside, family: keys.allCategories() })
  return undefined
}

/** The category of this level with this id. Throws `CATEGORY_NOT_FOUND` or `SUBCATEGORY_NOT_FOUND`. */
export async function readCategory(
  { records }: Context,
  companyId: CompanyId,
  level: Level,
  id: string,
  parentId?: string,
): Promise<Read<CategoryRecord>> {
  const read = await findCategory(records, companyId, id, parentId)
  if (read === undefined) throw notFound(level)
  if ((read.record.parentId === undefined) !== (level === 'category')) throw notFound(level)
  return read
}

/** A category, and the subcategory that a path names in it. */
export interface CategoryInPath {
  readonly category: Read<CategoryRecord>
  readonly subcategory?: Read<CategoryRecord>
}

/** Throws `CATEGORY_NOT_FOUND`, or `SUBCATEGORY_NOT_FOUND` also for a subcategory of another category. */
export async function readPath(
  context: Context,
  companyId: CompanyId,
  path: SubcategoryPath,
): Promise<Required<CategoryInPath>>
/** As above; without a subcategory if the path names none. */
export async function readPath(context: Context, companyId: CompanyId, path: CategoryPath): Promise<CategoryInPath>
export async function readPath(
  context: Context,
  companyId: CompanyId,
  { categoryId, subcategoryId }: CategoryPath,
): Promise<CategoryInPath> {
  const category = await readCategory(context, companyId, 'category', categoryId)
  if (subcategoryId === undefined) return { category }
  const subcategory = await readCategory(context, companyId, 'subcategory', subcategoryId, categoryId)
  if (subcategory.record.parentId !== categoryId) throw notFound('subcategory')
  return { category, subcategory }
}

/** The owner of the files of a category. */
export const fileOwner = (companyId: CompanyId, { id }: CategoryRecord): FileOwner => ({
  company: companyId,
  ownerKind: 'category',
  ownerId: id,
  version: 0,
})

/** Throws `NAME_EXISTS` if a sibling has the name. */
export async function assertCategoryNameFree(
  { records }: Context,
  companyId: CompanyId,
  { parentId, name }: Pick<CategoryRecord, 'parentId' | 'name'>,
): Promise<void> {
  const taken = await readRecord(records, keys.categoryName(companyId, parentId, name))
  if (taken === undefined) return
  await readReferred(records, taken.check, keys.category(companyId, taken.record.id))
  throw new RegistryError('NAME_EXISTS', 'name is in use by a sibling', { field: 'name' })
}
