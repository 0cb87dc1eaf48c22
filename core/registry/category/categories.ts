import type { Categories, Category } from '../../api/categories.ts'
import { enterCompany } from '../permissions.ts'
import type { Context } from '../context.ts'
import { createCategory } from './create.ts'
import { removeCategory, updateCategory } from './update.ts'
import type { CompanyId } from '../../api/scope.ts'
import type { Range } from '../../ports/index.ts'
import { type Count, readCount, sumOfCounters, countOf } from '../../store/counter.ts'
import { listCounted } from '../../store/counted.ts'
import { decodeRecord } from '../../store/codec.ts'
import { listEntries, listedRecords } from '../../store/read.ts'
import { keys, lastPartOfKey } from '../../store/keys.ts'
import type { CategoryRecord } from '../../store/records.ts'
import { listFiles } from '../file/stored-file.ts'
import { IdToFind } from '../../schemas/fields.ts'
import { validate } from '../../schemas/validation.ts'
import { CategoryPath } from '../../schemas/category-inputs.ts'
import { readPath } from './stored-category.ts'

/** The operations on categories. Their contract is `Categories`. */
export const categoryOperations = (context: Context): Categories => ({
  create: createCategory(context),
  list: listCategories(context),
  get: getCategory(context),
  update: updateCategory(context),
  remove: removeCategory(context),
  files: listCategoryFiles(context),
})

/** All categories of a company with their subcategories, oldest first. */
const listCategories =
  (context: Context): Categories['list'] =>
  async (scope) => {
    const { companyId } = await enterCompany(context, scope, 'R')
    const siblings = new Map<string | undefined, CategoryRecord[]>()
    const all = await readListed(context, companyId, keys.categoriesOf(companyId), async () =>
      sumOfCounters(await listEntries(context.records, keys.categoryCountsOf(companyId))),
    )
    for (const record of all) {
      const { parentId } = record
      const others = siblings.get(parentId)
      if (others === undefined) siblings.set(parentId, [record])
      else others.push(record)
    }
    const categories = siblings.get(undefined) ?? []
    return Promise.all(
      categories.map((record) => describeWith(context, companyId, record, siblings.get(record.id) ?? [])),
    )
  }

/** The categories in a listing, oldest first. */
async function readListed(
  { records }: Context,
  companyId: CompanyId,
  range: Range,
  count: () => Promise<Count>,
): Promise<readonly CategoryRecord[]> {
  const read = () => listEntries(records, range)
  const { entries: listing } = await listCounted({ name: 'The list of categories', count, read })
  const entries = await listedRecords(records, listing, (key) => keys.category(companyId, lastPartOfKey(key)))
  return entries.map((entry) => decodeRecord(entry))
}

/** A category with its subcategories, or a subcategory. */
const getCategory =
  (context: Context): Categories['get'] =>
  async (scope, path) => {
    const { companyId } = await enterCompany(context, scope, 'R')
    validate(CategoryPath, path)
    const { category, subcategory } = await readPath(context, companyId, path)
    if (subcategory !== undefined) return describe(context, companyId, subcategory.record, category.record)
    const { id } = category.record
    const subcategories = await readListed(context, companyId, keys.categoriesIn(companyId, id), () =>
      readCount(context.records, [keys.categoryCount(companyId, id)]),
    )
    return describeWith(context, companyId, category.record, subcategories)
  }

/** The files of a subcategory and of its category. */
const listCategoryFiles =
  (context: Context): Categories['files'] =>
  async (scope, path) => {
    const { companyId } = await enterCompany(context, scope, 'R')
    validate(CategoryPath, path)
    validate(IdToFind, path.subcategoryId, 'subcategoryId')
    const { category, subcategory } = await readPath(context, companyId, path)
    const [ofCategory, ofSubcategory] = await Promise.all([
      listFiles(context, companyId, category.record.id),
      listFiles(context, companyId, subcategory.record.id),
    ])
    return { category: ofCategory, subcategory: ofSubcategory }
  }

async function describeWith(
  context: Context,
  company: CompanyId,
  category: CategoryRecord,
  subcategories: readonly CategoryRecord[],
): Promise<Category> {
  const [described, ...others] = await Promise.all([
    describe(context, company, category),
    ...subcategories.map((record) => describe(context, company, record, category)),
  ])
  return {
    ...described,
    evidenceCount: others.reduce((sum, { evidenceCount }) => sum + evidenceCount, 0),
    subcategories: others,
  }
}

/** Without its subcategories, whose evidences are those of a category. `parent`: of a subcategory. */
async function describe(
  context: Context,
  company: CompanyId,
  record: CategoryRecord,
  parent?: CategoryRecord,
): Promise<Category> {
  const { createdAt: _, ...details } = record
  const { id, name } = record
  const counter = keys.evidenceCount(['sub', company, id])
  const [[count], files] = await Promise.all([context.records.get([counter]), listFiles(context, company, id)])
  return {
    ...details,
    path: parent === undefined ? `/${name}` : `/${parent.name}/${name}`,
    ...(parent === undefined && { publicStatus: record.publicStatus === true }),
    evidenceCount: countOf(count),
    files,
    subcategories: [],
  }
}
