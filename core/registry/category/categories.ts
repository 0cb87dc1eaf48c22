import type { Categories, Category, CategoryFiles, CategoryPath, SubcategoryPath } from '../../api/categories.ts'
import { enterCompany, type AuthorizedScope } from '../permissions.ts'
import type { Context } from '../context.ts'
import { createCategory } from './create.ts'
import { removeCategory, updateCategory } from './update.ts'
import type { CompanyId } from '../../api/scope.ts'
import type { Range } from '../../ports/index.ts'
import { countOf, decodeRecord, listEntries, listedRecords } from '../../store/read.ts'
import { keys, lastPartOfKey } from '../../store/keys.ts'
import type { CategoryRecord } from '../../store/records.ts'
import { listFiles } from '../file/stored-file.ts'
import { IdToFind } from '../../schemas/fields.ts'
import { validate } from '../../schemas/validation.ts'
import { categoryPathSchema, readPath } from './stored-category.ts'

export const categoryOperations = (context: Context): Categories => ({
  create: async (scope, input, options) =>
    createCategory(context, await enterCompany(context, scope, 'I'), input, options),
  list: async (scope) => listCategories(context, await enterCompany(context, scope, 'R')),
  get: async (scope, path) => getCategory(context, await enterCompany(context, scope, 'R'), path),
  update: async (scope, path, change, options) =>
    updateCategory(context, await enterCompany(context, scope, 'U'), { path, change }, options),
  remove: async (scope, path, options) =>
    removeCategory(context, await enterCompany(context, scope, 'U'), path, options),
  files: async (scope, path) => listCategoryFiles(context, await enterCompany(context, scope, 'R'), path),
})

export async function listCategories(context: Context, { companyId }: AuthorizedScope): Promise<readonly Category[]> {
  const records = await readAll(context, companyId, keys.categoriesOf(companyId))
  const siblings = new Map<string | undefined, CategoryRecord[]>()
  for (const record of records) {
    const { parentId } = record
    const others = siblings.get(parentId)
    if (others === undefined) siblings.set(parentId, [record])
    else others.push(record)
  }
  const categories = siblings.get(undefined) ?? []
  return Promise.all(categories.map((record) => describeWith(context, record, siblings.get(record.id) ?? [])))
}

/** The categories in a listing, oldest first. */
async function readAll({ records }: Context, companyId: CompanyId, range: Range): Promise<readonly CategoryRecord[]> {
  const listing = await listEntries(records, range)
  const entries = await listedRecords(records, listing, (key) => keys.category(companyId, lastPartOfKey(key)))
  return entries.map((entry) => decodeRecord(entry))
}

export async function getCategory(
  context: Context,
  { companyId }: AuthorizedScope,
  path: CategoryPath,
): Promise<Category> {
  validate(categoryPathSchema, path)
  const { category, subcategory } = await readPath(context, companyId, path)
  if (subcategory !== undefined) return describe(context, subcategory.record, category.record)
  const subcategories = await readAll(context, companyId, keys.categoriesIn(companyId, path.categoryId))
  return describeWith(context, category.record, subcategories)
}

export async function listCategoryFiles(
  context: Context,
  { companyId }: AuthorizedScope,
  path: SubcategoryPath,
): Promise<CategoryFiles> {
  validate(categoryPathSchema, path)
  validate(IdToFind, path.subcategoryId, 'subcategoryId')
  await readPath(context, companyId, path)
  const [category, subcategory] = await Promise.all([
    listFiles(context, path.categoryId),
    listFiles(context, path.subcategoryId),
  ])
  return { category, subcategory }
}

async function describeWith(
  context: Context,
  category: CategoryRecord,
  subcategories: readonly CategoryRecord[],
): Promise<Category> {
  const [described, ...others] = await Promise.all([
    describe(context, category),
    ...subcategories.map((record) => describe(context, record, category)),
  ])
  return { ...described, subcategories: others }
}

/** Without its subcategories. `parent`: of a subcategory. */
async function describe(context: Context, record: CategoryRecord, parent?: CategoryRecord): Promise<Category> {
  const { createdAt: _, ...details } = record
  const { id, name } = record
  const counter = keys.evidenceCount(parent === undefined ? ['category', id] : ['category', parent.id, id])
  const [[count], files] = await Promise.all([context.records.get([counter]), listFiles(context, id)])
  return {
    ...details,
    path: parent === undefined ? `/${name}` : `/${parent.name}/${name}`,
    evidenceCount: countOf(count),
    files,
    subcategories: [],
  }
}
