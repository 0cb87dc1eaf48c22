import type { Entry, Key } from '../ports/index.ts'
import { partsOfKey } from '../store/key.ts'
import { keys } from '../store/keys.ts'
import { encodeRecord } from '../store/record-codec.ts'
import type { CategoryRecord, FileRecord, NameRecord, SubcategoryRecord } from '../store/records.ts'
import { checkAudit } from './audit.ts'
import { staleIf, type Check } from './check.ts'
import { expectCount } from './listings.ts'
import { checkSourceSystems } from './source-systems.ts'

/** An index record: the id of the record that has a name. */
interface IdRecord {
  readonly id: string
}

/** Checks the records of companies: categories, subcategories and source systems. Holds the ids of all categories. */
export async function checkCompanies(check: Check): Promise<void> {
  const companies = await checkCategories(check)
  await checkSubcategoryCounts(check, companies)
  await checkSubcategories(check, companies)
  await checkSubcategoryIndexes(check, companies)
  await checkCategoryNames(check)
  await checkSourceSystems(check)
  await checkAudit(check)
}

/** The company of each category, by the category's id. */
type CompanyByCategory = ReadonlyMap<string, string>

async function checkCategories(check: Check): Promise<CompanyByCategory> {
  const companies = new Map<string, string>()
  for await (const page of check.pages(keys.allCategories()))
    for (const entry of page) {
      const [, company = '', id = ''] = partsOfKey(entry.key)
      companies.set(id, company)
      const category = check.decode<CategoryRecord>('category', entry)
      if (category !== undefined) await checkCategory(check, company, entry.key, category)
    }
  return companies
}

async function checkCategory(check: Check, company: string, key: Key, category: CategoryRecord): Promise<void> {
  check.expect(keys.category(company, category.id) === key, 'category', key, 'It is stored under another id')
  await expectIndex(check, keys.categoryName(company, category.name), category.id)
  await checkImage(check, key, category)
  let count = 0
  for await (const page of check.pages(keys.subcategoriesOf(category.id))) count += page.length
  const counter = keys.subcategoryCount(category.id)
  expectCount(check, counter, await check.get(counter), count)
}

/** Checks that an index record refers to this id. */
async function expectIndex(check: Check, key: Key, id: string): Promise<void> {
  const index = await check.read<IdRecord>('index', key)
  const message = `It does not refer to ${id}`
  const repair = encodeRecord({ id } satisfies NameRecord)
  check.expectDerived(index?.id === id, { kind: 'index', key, message, repair })
}

async function checkImage(check: Check, key: Key, { id, imageId }: CategoryRecord): Promise<void> {
  if (imageId === undefined) return
  const image = await check.read<FileRecord>('file', keys.file(imageId))
  check.expect(image?.ownerId === id, 'category', key, `Its image ${imageId} is missing`)
}

/** The counter of a removed category stays, with the value 0. */
async function checkSubcategoryCounts(check: Check, companies: CompanyByCategory): Promise<void> {
  for await (const page of check.pages(keys.subcategoryCounts()))
    for (const entry of page) {
      const isRemoved = !companies.has(partsOfKey(entry.key)[1] ?? '')
      if (isRemoved) expectCount(check, entry.key, entry, 0)
    }
}

async function checkSubcategories(check: Check, companies: CompanyByCategory): Promise<void> {
  for await (const page of check.pages(keys.allSubcategories()))
    for (const entry of page) {
      const subcategory = check.decode<SubcategoryRecord>('category', entry)
      if (subcategory === undefined) continue
      const { id, categoryId, name } = subcategory
      const company = companies.get(categoryId)
      const isRight = company !== undefined && keys.subcategory(company, id) === entry.key
      check.expect(isRight, 'category', entry.key, 'Its category is missing, or it is stored under another id')
      const listing = keys.subcategoryOf(categoryId, id)
      const isListed = (await check.get(listing)) !== undefined
      const message = 'A subcategory is not listed'
      check.expectDerived(isListed, { kind: 'index', key: listing, message, repair: new Uint8Array() })
      await expectIndex(check, keys.subcategoryName(categoryId, name), id)
      await checkImage(check, entry.key, subcategory)
    }
}

/** Checks that each listing and each name of a subcategory refers to it. */
async function checkSubcategoryIndexes(check: Check, companies: CompanyByCategory): Promise<void> {
  const expectSubcategory = async ({ key }: Entry, id: string, keyOf: (found: SubcategoryRecord) => Key) => {
    const [, categoryId = ''] = partsOfKey(key)
    const subcategoryKey = keys.subcategory(companies.get(categoryId) ?? '', id)
    const subcategory = await check.read<SubcategoryRecord>('category', subcategoryKey)
    const isRight = subcategory !== undefined && keyOf(subcategory) === key
    check.expectDerived(isRight, {
      kind: 'index',
      key,
      message: 'It does not refer to this subcategory',
      repair: staleIf(subcategory),
    })
  }
  for await (const page of check.pages(keys.allSubcategoryListings()))
    for (const entry of page) {
      const [, , id = ''] = partsOfKey(entry.key)
      await expectSubcategory(entry, id, ({ categoryId }) => keys.subcategoryOf(categoryId, id))
    }
  for await (const page of check.pages(keys.allSubcategoryNames()))
    for (const entry of page) {
      const index = check.decode<IdRecord>('index', entry)
      if (index === undefined) continue
      await expectSubcategory(entry, index.id, ({ categoryId, name }) => keys.subcategoryName(categoryId, name))
    }
}

async function checkCategoryNames(check: Check): Promise<void> {
  for await (const page of check.pages(keys.allCategoryNames()))
    for (const entry of page) {
      const [, company = ''] = partsOfKey(entry.key)
      const index = check.decode<IdRecord>('index', entry)
      const category = index && (await check.read<CategoryRecord>('category', keys.category(company, index.id)))
      const isRight = category !== undefined && keys.categoryName(company, category.name) === entry.key
      const message = 'It does not refer to a category with this name'
      check.expectDerived(isRight, { kind: 'index', key: entry.key, message, repair: staleIf(category) })
    }
}
