import type { Categories, Category } from '../../api/categories.ts'
import type { FileEntry } from '../../api/files.ts'
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
    const all = await readListed(context, companyId, keys.categoriesOf(companyId), async () =>
      sumOfCounters(await listEntries(context.records, keys.categoryCountsOf(companyId))),
    )
    const records = new Map(all.map((record) => [record.id, record]))
    const placed = all.map((record) => ({
      record,
      parent: record.parentId === undefined ? undefined : records.get(record.parentId),
    }))
    const described = await describe(context, companyId, placed)
    const siblings = new Map<string | undefined, Category[]>()
    for (const category of described) {
      const others = siblings.get(category.parentId)
      if (others === undefined) siblings.set(category.parentId, [category])
      else others.push(category)
    }
    return (siblings.get(undefined) ?? []).map((category) => withSubcategories(category, siblings.get(category.id)))
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
    const parent = category.record
    if (subcategory !== undefined) return describeOne(context, companyId, { record: subcategory.record, parent })
    const { id } = parent
    const subcategories = await readListed(context, companyId, keys.categoriesIn(companyId, id), () =>
      readCount(context.records, [keys.categoryCount(companyId, id)]),
    )
    const described = await describe(
      context,
      companyId,
      subcategories.map((record) => ({ record, parent })),
    )
    return withSubcategories(await describeOne(context, companyId, { record: parent }), described)
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

const withSubcategories = (category: Category, subcategories: readonly Category[] = []): Category => ({
  ...category,
  evidenceCount: subcategories.reduce((sum, { evidenceCount }) => sum + evidenceCount, 0),
  subcategories,
})

interface Placed {
  readonly record: CategoryRecord
  /** Of a subcategory. */
  readonly parent?: CategoryRecord | undefined
}

async function describeOne(context: Context, company: CompanyId, placed: Placed): Promise<Category> {
  const [described] = await describe(context, company, [placed])
  if (described === undefined) throw new Error('It was not described')
  return described
}

/** How many lists of files are read at a time, so that the reads of others get between them. */
const MAX_LISTING = 16

/** Without their subcategories, whose evidences are those of a category. It may have thousands of them. */
async function describe(
  context: Context,
  company: CompanyId,
  categories: readonly Placed[],
): Promise<readonly Category[]> {
  const counters = await context.records.get(
    categories.map(({ record }) => keys.evidenceCount(['sub', company, record.id])),
  )
  const files: (readonly FileEntry[])[] = []
  for (let i = 0; i < categories.length; i += MAX_LISTING) {
    const group = categories.slice(i, i + MAX_LISTING)
    files.push(...(await Promise.all(group.map(({ record }) => listFiles(context, company, record.id)))))
  }
  return categories.map(({ record, parent }, i) => {
    const { createdAt: _, ...details } = record
    const { name } = record
    return {
      ...details,
      path: parent === undefined ? `/${name}` : `/${parent.name}/${name}`,
      ...(parent === undefined && { publicStatus: record.publicStatus === true }),
      evidenceCount: countOf(counters[i]),
      files: files[i] ?? [],
      subcategories: [],
    }
  })
}
