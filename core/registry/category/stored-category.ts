import type { SubcategoryPath } from '../../api/categories.ts'
import type { CategoryId, CompanyId } from '../../api/ids.ts'
import { RegistryError } from '../../errors.ts'
import type { Check, Commit, Key } from '../../ports/index.ts'
import { keys } from '../../store/keys.ts'
import { requireRecord, type Read } from '../../store/read.ts'
import type { CategoryRecord, SubcategoryRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import type { FileOwnerRef } from '../file/stored-file.ts'

/** A category or a subcategory with what a change of it needs. */
export interface StoredCategory {
  readonly record: CategoryRecord
  readonly check: Check
  readonly key: Key
  /** The key under which a sibling of this name would be stored. */
  readonly nameKey: (name: string) => Key
  /** The owner of its image. */
  readonly fileOwner: FileOwnerRef
  /** Counters that must be zero for a removal. */
  readonly counters: readonly Key[]
  /** What a removal commits beside the record and its name. */
  readonly removal: Pick<Commit, 'checks' | 'writes' | 'adds'>
}

const categoryNotFound = (): RegistryError =>
  new RegistryError('CATEGORY_NOT_FOUND', 'There is no such category in this company')
export const subcategoryNotFound = (): RegistryError =>
  new RegistryError('SUBCATEGORY_NOT_FOUND', 'There is no such subcategory in this category')

export const readCategory = (
  { records }: Context,
  companyId: CompanyId,
  categoryId: string,
): Promise<Read<CategoryRecord<CategoryId>>> =>
  requireRecord(records, keys.category(companyId, categoryId), categoryNotFound)

/** A subcategory of exactly this category. Throws `SUBCATEGORY_NOT_FOUND`. */
export async function readSubcategory(
  { records }: Context,
  companyId: CompanyId,
  { categoryId, subcategoryId }: SubcategoryPath,
): Promise<Read<SubcategoryRecord>> {
  const key = keys.subcategory(companyId, subcategoryId)
  const read = await requireRecord<SubcategoryRecord>(records, key, subcategoryNotFound)
  if (read.record.categoryId !== categoryId) throw subcategoryNotFound()
  return read
}

export async function loadCategory(
  context: Context,
  companyId: CompanyId,
  categoryId: string,
): Promise<StoredCategory> {
  return {
    ...(await readCategory(context, companyId, categoryId)),
    key: keys.category(companyId, categoryId),
    nameKey: (name) => keys.categoryName(companyId, name),
    fileOwner: { company: companyId, ownerKind: 'category', ownerId: categoryId, version: 0 },
    counters: [keys.evidenceCount('category', categoryId), keys.subcategoryCount(categoryId)],
    removal: {},
  }
}

export async function loadSubcategory(
  context: Context,
  companyId: CompanyId,
  path: SubcategoryPath,
): Promise<StoredCategory> {
  const { categoryId, subcategoryId } = path
  const category = await readCategory(context, companyId, categoryId)
  return {
    ...(await readSubcategory(context, companyId, path)),
    key: keys.subcategory(companyId, subcategoryId),
    nameKey: (name) => keys.subcategoryName(categoryId, name),
    fileOwner: { company: companyId, ownerKind: 'subcategory', ownerId: subcategoryId, version: 0 },
    counters: [keys.evidenceCount('subcategory', subcategoryId)],
    removal: {
      checks: [category.check],
      writes: [{ key: keys.subcategoryOf(categoryId, subcategoryId), value: null }],
      adds: [{ key: keys.subcategoryCount(categoryId), delta: -1 }],
    },
  }
}

/** Throws `NAME_EXISTS` if a sibling has the name. */
export async function assertNameFree({ records }: Context, nameKey: Key): Promise<void> {
  const [taken] = await records.get([nameKey])
  if (taken !== undefined) throw new RegistryError('NAME_EXISTS', 'name is in use by a sibling', { field: 'name' })
}
