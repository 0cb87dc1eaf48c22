import type { CategorySelector } from '../../api/evidences.ts'
import type { CategoryId, CompanyId, SubcategoryId } from '../../api/ids.ts'
import type { SubcategoryPath } from '../../api/categories.ts'
import { RegistryError } from '../../errors.ts'
import type { Key } from '../../ports/index.ts'
import { keys } from '../../store/keys.ts'
import { readRecord, requireRecord, type Read } from '../../store/read.ts'
import type { CategoryRecord, NameRecord, SubcategoryRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import type { Attempt } from '../write.ts'
import type { CategoryNames, CategoryRef, CommitPart } from './category-cache.ts'
import { decideCategory, decideSubcategory, newCategory } from './creation.ts'
import { readCategory, readSubcategory, subcategoryNotFound } from './stored-category.ts'

/** The category and subcategory with these ids. Both must be active. */
export const categoryById = (
  context: Context,
  companyId: CompanyId,
  { categoryId, subcategoryId }: SubcategoryPath,
  attempt: Attempt,
): Promise<CategoryRef> =>
  cachedOr(context, companyId, { names: namesOf(categoryId, subcategoryId), attempt }, async () => {
    const category = await readCategory(context, companyId, categoryId)
    return refOf(category, await readSubcategory(context, companyId, { categoryId, subcategoryId }))
  })

const namesOf = (categoryId: string, subcategoryId: string): CategoryNames => ({
  category: { id: categoryId },
  subcategory: { id: subcategoryId },
})

/**
 * The category and subcategory that these ids or names select. Each selector must have an id or a name. A name that
 * does not exist yet is created in the commit of the evidence, so that two simultaneous creates with the same new name
 * share one category.
 */
export const resolveCategory = (
  context: Context,
  companyId: CompanyId,
  names: CategoryNames,
  attempt: Attempt,
): Promise<CategoryRef> =>
  cachedOr(context, companyId, { names, attempt }, () => findOrCreate(context, companyId, names, attempt.now))

interface Lookup {
  readonly names: CategoryNames
  readonly attempt: Attempt
}

/** In the first attempt from the cache, if it is there. Otherwise as `find` says, which is then cached. */
async function cachedOr(
  { categoryCache }: Context,
  companyId: CompanyId,
  { names, attempt }: Lookup,
  find: () => Promise<CategoryRef>,
): Promise<CategoryRef> {
  const cached = attempt.isFirst ? categoryCache.find(companyId, names) : undefined
  if (cached !== undefined) return cached
  const ref = await find()
  // A category that the commit has yet to create has no version.
  if (ref.writes.length === 0) categoryCache.add(companyId, names, ref)
  return ref
}

async function findOrCreate(
  context: Context,
  companyId: CompanyId,
  names: CategoryNames,
  now: number,
): Promise<CategoryRef> {
  const category = await findCategory(context, companyId, names.category)
  if (category === undefined) return createBoth(context, companyId, names, now)
  const subcategory = await findSubcategory(context, category.record, names.subcategory, companyId)
  if (subcategory !== undefined) return refOf(category, subcategory)
  assertActive(category.record)
  const record = newSubcategory(context, category.record.id, names.subcategory, now)
  const part = decideSubcategory({ companyId, record, categoryCheck: category.check })
  return { category: category.record, subcategory: record, ...part }
}

async function createBoth(
  context: Context,
  companyId: CompanyId,
  names: CategoryNames,
  now: number,
): Promise<CategoryRef> {
  // A subcategory with an id cannot be in a category that does not exist yet.
  if (names.subcategory.id !== undefined) await rejectForeign(context, companyId, names.subcategory.id)
  const category = newCategory<CategoryId>(context.ids, { name: nameOf(names.category) }, now)
  const subcategory = newSubcategory(context, category.id, names.subcategory, now)
  const parts = [decideCategory(companyId, category), decideSubcategory({ companyId, record: subcategory })]
  return { category, subcategory, ...mergeParts(parts) }
}

async function rejectForeign({ records }: Context, companyId: CompanyId, subcategoryId: string): Promise<never> {
  await requireRecord(records, keys.subcategory(companyId, subcategoryId), subcategoryNotFound)
  throw foreignSubcategory()
}

const newSubcategory = (
  { ids }: Context,
  categoryId: CategoryId,
  selector: CategorySelector,
  now: number,
): SubcategoryRecord => ({ ...newCategory<SubcategoryId>(ids, { name: nameOf(selector) }, now), categoryId })

/** Of a selector without an id, which always has a name. */
const nameOf = ({ name = '' }: CategorySelector): string => name

/** `undefined` if no category has the name. An id takes precedence over a name. */
async function findCategory(
  context: Context,
  companyId: CompanyId,
  selector: CategorySelector,
): Promise<Read<CategoryRecord<CategoryId>> | undefined> {
  if (selector.id !== undefined)
    return assertSameName('category', await readCategory(context, companyId, selector.id), selector)
  const name = nameOf(selector)
  const id = await idByName(context, keys.categoryName(companyId, name))
  return withName(id && (await readRecord(context.records, keys.category(companyId, id))), name)
}

/** `undefined` if no subcategory of the category has the name. An id takes precedence over a name. */
async function findSubcategory(
  { records }: Context,
  category: CategoryRecord<CategoryId>,
  selector: CategorySelector,
  companyId: CompanyId,
): Promise<Read<SubcategoryRecord> | undefined> {
  if (selector.id !== undefined) {
    const key = keys.subcategory(companyId, selector.id)
    const read = await requireRecord<SubcategoryRecord>(records, key, subcategoryNotFound)
    if (read.record.categoryId !== category.id) throw foreignSubcategory()
    return assertSameName('subcategory', read, selector)
  }
  const name = nameOf(selector)
  const id = await idByName({ records }, keys.subcategoryName(category.id, name))
  return withName(id && (await readRecord(records, keys.subcategory(companyId, id))), name)
}

async function idByName({ records }: Pick<Context, 'records'>, nameKey: Key): Promise<string | undefined> {
  return (await readRecord<NameRecord>(records, nameKey))?.record.id
}

/** A record that was renamed between the two reads is not the one that was selected. */
const withName = <T extends CategoryRecord>(read: Read<T> | '' | undefined, name: string): Read<T> | undefined =>
  read && read.record.name === name ? read : undefined

function assertSameName<T extends CategoryRecord>(
  field: 'category' | 'subcategory',
  read: Read<T>,
  { name }: CategorySelector,
): Read<T> {
  if (name === undefined || name === read.record.name) return read
  throw mismatch(
    field,
    `${field} has an id and a name of two different ${field === 'category' ? 'categories' : 'subcategories'}`,
  )
}

function refOf(category: Read<CategoryRecord<CategoryId>>, subcategory: Read<SubcategoryRecord>): CategoryRef {
  assertActive(category.record)
  assertActive(subcategory.record)
  return {
    category: category.record,
    subcategory: subcategory.record,
    checks: [category.check, subcategory.check],
    writes: [],
    adds: [],
  }
}

const mergeParts = (parts: readonly CommitPart[]): CommitPart => ({
  checks: parts.flatMap(({ checks }) => checks),
  writes: parts.flatMap(({ writes }) => writes),
  adds: parts.flatMap(({ adds }) => adds),
})

function assertActive({ status, name }: CategoryRecord): void {
  if (status !== 'active')
    throw new RegistryError('CATEGORY_INACTIVE', `${JSON.stringify(name)} is inactive and accepts no new evidence`)
}

const foreignSubcategory = (): RegistryError =>
  mismatch('subcategory.id', 'subcategory.id is a subcategory of another category')

const mismatch = (field: string, message: string): RegistryError =>
  new RegistryError('CATEGORY_MISMATCH', message, { field })
