import type { EvidenceFilter } from '../../api/evidence-lists.ts'
import type { CategoryId, CompanyId } from '../../api/ids.ts'
import { lastPartOfKey } from '../../store/key.ts'
import { keys } from '../../store/keys.ts'
import { listEntries, readRecord } from '../../store/read.ts'
import type { CategoryRecord, SubcategoryRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'

/** A list of evidences in the store. A category has none, its subcategories have. */
export type Listing = Parameters<typeof keys.evidencesIn>

/** All evidences of a company, a category or a subcategory: what counts them, and what lists them. */
export interface CountedList {
  /** Counts the evidences. */
  readonly counter: Parameters<typeof keys.evidenceCount>
  /** Together they contain all of them and nothing else. No evidence is in two of these. */
  readonly listings: readonly Listing[]
}

/**
 * The list of the narrowest of company, category and subcategory that a filter names. Returns `undefined` if nothing
 * can match: the category or subcategory does not exist, or is in another one.
 */
export async function narrowestList(
  context: Context,
  companyId: CompanyId,
  { categoryId, subcategoryId }: Pick<EvidenceFilter, 'categoryId' | 'subcategoryId'>,
): Promise<CountedList | undefined> {
  if (subcategoryId !== undefined) {
    const parent = await categoryOfSubcategory(context, companyId, subcategoryId)
    const matches = parent !== undefined && (categoryId === undefined || categoryId === parent)
    return matches ? listOf('subcategory', subcategoryId) : undefined
  }
  if (categoryId === undefined) return listOf('company', companyId)
  const category = await readRecord<CategoryRecord>(context.records, keys.category(companyId, categoryId))
  return category && { counter: ['category', categoryId], listings: await listingsOfCategory(context, categoryId) }
}

const listOf = (...listing: Listing): CountedList => ({ counter: listing, listings: [listing] })

async function listingsOfCategory({ records }: Context, categoryId: string): Promise<readonly Listing[]> {
  const subcategories = await listEntries(records, keys.subcategoriesOf(categoryId))
  return subcategories.map(({ key }) => ['subcategory', lastPartOfKey(key)])
}

async function categoryOfSubcategory(
  { records }: Context,
  companyId: CompanyId,
  subcategoryId: string,
): Promise<CategoryId | undefined> {
  const read = await readRecord<SubcategoryRecord>(records, keys.subcategory(companyId, subcategoryId))
  return read?.record.categoryId
}
