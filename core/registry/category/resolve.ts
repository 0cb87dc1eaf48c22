import { RegistryError } from '../../errors.ts'
import { keys } from '../../store/keys.ts'
import type { Add, Check, Write } from '../../ports.ts'
import type { Scope } from '../../api/registry.ts'
import {
  categoryNotFound,
  createCategory,
  createSubcategory,
  newCategory,
  subcategoryNotFound,
} from './new-category.ts'
import { mustRead, read, type Attempt, type Context, type Read } from '../context.ts'
import type { CategoryRef, CategoryNames } from './category-cache.ts'
import type { CategoryRecord, SubcategoryRecord } from '../../store/records.ts'

/** A category and a subcategory by id, both active. */
export const placeById = (
  context: Context,
  scope: Scope,
  ids: { readonly categoryId: string; readonly subcategoryId: string },
  attempt: Attempt,
): Promise<CategoryRef> => knownOr(context, scope, ids, attempt, () => readPlace(context, scope, ids))

/**
 * An id wins over a name; an id and a name that disagree are refused; a name that does not exist yet is created in the
 * evidence's own commit, so that two creates that race on it share it.
 */
export const resolvePlace = (
  context: Context,
  scope: Scope,
  names: CategoryNames,
  attempt: Attempt,
): Promise<CategoryRef> => knownOr(context, scope, names, attempt, () => findPlace(context, scope, names, attempt.now))

/** As it is known, in a first try; else as it is found, which is then known. */
async function knownOr(
  { categoryCache: places }: Context,
  { companyId }: Scope,
  names: CategoryNames,
  { isFirst }: Attempt,
  find: () => Promise<CategoryRef>,
): Promise<CategoryRef> {
  const known = isFirst ? places.find(companyId, names) : undefined
  if (known !== undefined) return known
  const place = await find()
  // What the commit is to create has no version yet.
  if (place.writes.length === 0) places.note(companyId, names, place)
  return place
}

async function readPlace(
  context: Context,
  scope: Scope,
  { categoryId, subcategoryId }: { readonly categoryId: string; readonly subcategoryId: string },
): Promise<CategoryRef> {
  const category = await mustRead<CategoryRecord>(context, keys.category(scope.companyId, categoryId), categoryNotFound)
  const subcategory = await mustRead<SubcategoryRecord>(
    context,
    keys.subcategory(scope.companyId, subcategoryId),
    subcategoryNotFound,
  )
  if (subcategory.record.categoryId !== categoryId) throw subcategoryNotFound()
  return existing(category, subcategory)
}

async function findPlace(context: Context, scope: Scope, names: CategoryNames, now: number): Promise<CategoryRef> {
  const [categoryId, categoryName] = [given(names.categoryId), given(names.categoryName)]
  const [subcategoryId, subcategoryName] = [given(names.subcategoryId), given(names.subcategoryName)]
  if (categoryId === undefined && categoryName === undefined)
    throw new RegistryError('VALIDATION_ERROR', 'categoryId or categoryName is required')
  if (subcategoryId === undefined && subcategoryName === undefined)
    throw new RegistryError('VALIDATION_ERROR', 'subcategoryId or subcategoryName is required')

  const category = await findCategory(context, scope, categoryId, categoryName)
  if (category === undefined) {
    // Nothing can be in a category that does not exist yet.
    if (subcategoryId !== undefined) await refuseForeignSubcategory(context, scope, subcategoryId)
    const record = newCategory(context, { name: categoryName as string, now })
    const child: SubcategoryRecord = {
      ...newCategory(context, { name: subcategoryName as string, now }),
      categoryId: record.id,
    }
    return created(record, child, merge(createCategory(scope, record), createSubcategory(scope, undefined, child)))
  }
  const subcategory = await findSubcategory(context, scope, category.record, subcategoryId, subcategoryName)
  if (subcategory !== undefined) return existing(category, subcategory)
  assertActive(category.record)
  const child: SubcategoryRecord = {
    ...newCategory(context, { name: subcategoryName as string, now }),
    categoryId: category.record.id,
  }
  return created(category.record, child, merge(createSubcategory(scope, category.check, child)))
}

/** An empty form value is no value. */
const given = (value: string | undefined): string | undefined => (value === '' ? undefined : value)

async function findCategory(
  context: Context,
  { companyId }: Scope,
  id: string | undefined,
  name: string | undefined,
): Promise<Read<CategoryRecord> | undefined> {
  if (id !== undefined) {
    const found = await mustRead<CategoryRecord>(context, keys.category(companyId, id), categoryNotFound)
    if (name !== undefined && name !== found.record.name)
      throw mismatch('categoryId and categoryName name different categories')
    return found
  }
  const index = await read<{ id: string }>(context, keys.categoryName(companyId, name as string))
  const found = index && (await read<CategoryRecord>(context, keys.category(companyId, index.record.id)))
  // Renamed between the two reads, it is not the one that was named.
  return found?.record.name === name ? found : undefined
}

async function findSubcategory(
  context: Context,
  { companyId }: Scope,
  category: CategoryRecord,
  id: string | undefined,
  name: string | undefined,
): Promise<Read<SubcategoryRecord> | undefined> {
  if (id !== undefined) {
    const found = await mustRead<SubcategoryRecord>(context, keys.subcategory(companyId, id), subcategoryNotFound)
    if (found.record.categoryId !== category.id) throw mismatch('subcategoryId is a subcategory of another category')
    if (name !== undefined && name !== found.record.name)
      throw mismatch('subcategoryId and subcategoryName name different subcategories')
    return found
  }
  const index = await read<{ id: string }>(context, keys.subcategoryName(category.id, name as string))
  const found = index && (await read<SubcategoryRecord>(context, keys.subcategory(companyId, index.record.id)))
  return found?.record.name === name ? found : undefined
}

/** Where the category is new, a given subcategory id is another category's, or nobody's. */
async function refuseForeignSubcategory(context: Context, { companyId }: Scope, id: string): Promise<never> {
  await mustRead(context, keys.subcategory(companyId, id), subcategoryNotFound)
  throw mismatch('subcategoryId is a subcategory of another category')
}

function existing(category: Read<CategoryRecord>, subcategory: Read<SubcategoryRecord>): CategoryRef {
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

const created = (
  category: CategoryRecord,
  subcategory: SubcategoryRecord,
  parts: Omit<CategoryRef, 'category' | 'subcategory'>,
): CategoryRef => ({
  category,
  subcategory,
  ...parts,
})

interface Parts {
  readonly checks: readonly Check[]
  readonly writes: readonly Write[]
  readonly adds?: readonly Add[]
}

const merge = (...parts: readonly Parts[]) => ({
  checks: parts.flatMap(({ checks }) => checks),
  writes: parts.flatMap(({ writes }) => writes),
  adds: parts.flatMap(({ adds = [] }) => adds),
})

function assertActive({ status, name }: CategoryRecord): void {
  if (status !== 'active')
    throw new RegistryError('CATEGORY_INACTIVE', `${JSON.stringify(name)} is inactive and takes no new evidence`)
}

const mismatch = (what: string): RegistryError => new RegistryError('CATEGORY_MISMATCH', what)
