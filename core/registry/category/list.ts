import type { Category, CategoryFiles, Subcategory, SubcategoryPath } from '../../api/categories.ts'
import type { CategoryId, CompanyId } from '../../api/ids.ts'
import type { Key } from '../../ports/index.ts'
import { countOf } from '../../store/counter.ts'
import { lastPartOfKey } from '../../store/key.ts'
import { keys } from '../../store/keys.ts'
import { listEntries, listedRecords } from '../../store/read.ts'
import { decodeRecord } from '../../store/record-codec.ts'
import type { CategoryRecord, SubcategoryRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { listFiles } from '../file/stored-file.ts'
import type { AuthorizedScope } from '../permissions.ts'
import { IdToFind } from '../schemas.ts'
import { validate } from '../validation.ts'
import { subcategoryPathSchema } from './input.ts'
import { readCategory, readSubcategory } from './stored-category.ts'

export async function listCategories(context: Context, { companyId }: AuthorizedScope): Promise<readonly Category[]> {
  const entries = await listEntries(context.records, keys.categories(companyId))
  const records = entries.map((entry) => decodeRecord<CategoryRecord<CategoryId>>(entry))
  return Promise.all(records.map((record) => describeCategory(context, companyId, record)))
}

export async function getCategory(
  context: Context,
  { companyId }: AuthorizedScope,
  categoryId: string,
): Promise<Category> {
  validate(IdToFind, categoryId, 'categoryId')
  const { record } = await readCategory(context, companyId, categoryId)
  return describeCategory(context, companyId, record)
}

export async function getSubcategory(
  context: Context,
  { companyId }: AuthorizedScope,
  path: SubcategoryPath,
): Promise<Subcategory> {
  validate(subcategoryPathSchema, path)
  const { record: category } = await readCategory(context, companyId, path.categoryId)
  const { record } = await readSubcategory(context, companyId, path)
  return describeSubcategory(context, category, record)
}

export async function listCategoryFiles(
  context: Context,
  { companyId }: AuthorizedScope,
  path: SubcategoryPath,
): Promise<CategoryFiles> {
  validate(subcategoryPathSchema, path)
  await readCategory(context, companyId, path.categoryId)
  await readSubcategory(context, companyId, path)
  const [category, subcategory] = await Promise.all([
    listFiles(context, path.categoryId),
    listFiles(context, path.subcategoryId),
  ])
  return { category, subcategory }
}

async function describeCategory(
  context: Context,
  companyId: CompanyId,
  record: CategoryRecord<CategoryId>,
): Promise<Category> {
  const [details, subcategories] = await Promise.all([
    describe(context, record, { path: `/${record.name}`, counter: keys.evidenceCount('category', record.id) }),
    describeSubcategories(context, companyId, record),
  ])
  return { id: record.id, ...details, subcategories }
}

async function describeSubcategories(
  context: Context,
  companyId: CompanyId,
  category: CategoryRecord<CategoryId>,
): Promise<readonly Subcategory[]> {
  const { records } = context
  const listing = await listEntries(records, keys.subcategoriesOf(category.id))
  const entries = await listedRecords(records, listing, (key) => keys.subcategory(companyId, lastPartOfKey(key)))
  const subcategories = entries.map((entry) => decodeRecord<SubcategoryRecord>(entry))
  return Promise.all(subcategories.map((record) => describeSubcategory(context, category, record)))
}

async function describeSubcategory(
  context: Context,
  category: CategoryRecord<CategoryId>,
  record: SubcategoryRecord,
): Promise<Subcategory> {
  const path = `/${category.name}/${record.name}`
  const details = await describe(context, record, { path, counter: keys.evidenceCount('subcategory', record.id) })
  return { id: record.id, categoryId: category.id, ...details }
}

async function describe(
  context: Context,
  { id, name, status, description, imageId }: CategoryRecord,
  { path, counter }: { readonly path: string; readonly counter: Key },
) {
  const [[count], files] = await Promise.all([context.records.get([counter]), listFiles(context, id)])
  return {
    name,
    path,
    status,
    ...(description !== undefined && { description }),
    ...(imageId !== undefined && { imageId }),
    evidenceCount: countOf(count),
    files,
  }
}
