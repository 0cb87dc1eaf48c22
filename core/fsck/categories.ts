import { keys } from '../store/keys.ts'
import type { Entry, Key } from '../ports.ts'
import type {
  ApiKeyRecord,
  CategoryRecord,
  FileRecord,
  SourceSystemRecord,
  SubcategoryRecord,
} from '../store/records.ts'
import type { Check } from './check.ts'
import { partsOfKey } from '../store/key.ts'
import { expectCount } from './indexes.ts'

/** Companies' own records: categories, subcategories, source systems. Holds the ids of all categories. */
export async function checkCompanies(check: Check): Promise<void> {
  const companies = new Map<string, string>()
  for await (const page of check.pages(keys.allCategories()))
    for (const entry of page) {
      const [, company = '', id = ''] = partsOfKey(entry.key)
      companies.set(id, company)
      const category = check.decode<CategoryRecord>('category', entry)
      if (category !== undefined) await checkCategory(check, company, entry.key, category)
    }
  for await (const page of check.pages(keys.subcategoryCounts()))
    for (const entry of page) {
      // A removed category leaves its counter at 0 behind.
      const isKnown = companies.has(partsOfKey(entry.key)[1] ?? '')
      if (!isKnown) expectCount(check, entry.key, entry, 0)
    }
  await checkSubcategories(check, companies)
  await checkNames(check)
  await checkSourceSystems(check)
}

async function checkCategory(check: Check, company: string, key: Key, category: CategoryRecord): Promise<void> {
  check.expect(keys.category(company, category.id) === key, 'category', key, 'It is stored under another id')
  await expectLeads(check, keys.categoryName(company, category.name), category.id)
  await checkImage(check, key, category)
  let count = 0
  for await (const page of check.pages(keys.subcategoriesOf(category.id))) count += page.length
  const counter = keys.subcategoryCount(category.id)
  expectCount(check, counter, await check.one(counter), count)
}

/** An index by name leads to this id. */
async function expectLeads(check: Check, key: Key, id: string): Promise<void> {
  const index = await check.read<{ readonly id: string }>('index', key)
  check.expect(index?.id === id, 'index', key, `It does not lead to ${id}`)
}

async function checkImage(check: Check, key: Key, { id, imageId }: CategoryRecord): Promise<void> {
  if (imageId === undefined) return
  const image = await check.read<FileRecord>('file', keys.file(imageId))
  check.expect(image?.ownerId === id, 'category', key, `Its image ${imageId} is missing`)
}

async function checkSubcategories(check: Check, companies: ReadonlyMap<string, string>): Promise<void> {
  for await (const page of check.pages(keys.allSubcategories()))
    for (const entry of page) {
      const subcategory = check.decode<SubcategoryRecord>('category', entry)
      if (subcategory === undefined) continue
      const { id, categoryId, name } = subcategory
      const company = companies.get(categoryId)
      const own = company !== undefined && keys.subcategory(company, id) === entry.key
      check.expect(own, 'category', entry.key, 'Its category is missing, or it is stored under another id')
      const [listed] = await check.records.get([keys.subcategoryOf(categoryId, id)])
      check.expect(listed !== undefined, 'index', keys.subcategoryOf(categoryId, id), 'A subcategory is not listed')
      await expectLeads(check, keys.subcategoryName(categoryId, name), id)
      await checkImage(check, entry.key, subcategory)
    }
  for (const range of [keys.allSubcategoryListings(), keys.allSubcategoryNames()])
    for await (const page of check.pages(range))
      for (const entry of page) await expectSubcategory(check, companies, entry)
}

/** A listing or a name of a subcategory leads to it. */
async function expectSubcategory(check: Check, companies: ReadonlyMap<string, string>, entry: Entry): Promise<void> {
  const [family, category = '', last = ''] = partsOfKey(entry.key)
  const id = family === 'so' ? last : check.decode<{ readonly id: string }>('index', entry)?.id
  if (id === undefined) return
  const found = await check.read<SubcategoryRecord>('category', keys.subcategory(companies.get(category) ?? '', id))
  const expected =
    found &&
    (family === 'so' ? keys.subcategoryOf(found.categoryId, id) : keys.subcategoryName(found.categoryId, found.name))
  check.expect(expected === entry.key, 'index', entry.key, 'It leads to no such subcategory')
}

async function checkNames(check: Check): Promise<void> {
  for await (const page of check.pages(keys.allCategoryNames()))
    for (const entry of page) {
      const [, company = ''] = partsOfKey(entry.key)
      const index = check.decode<{ readonly id: string }>('index', entry)
      const category = index && (await check.read<CategoryRecord>('category', keys.category(company, index.id)))
      const leads = category !== undefined && keys.categoryName(company, category.name) === entry.key
      check.expect(leads, 'index', entry.key, 'It leads to no category of this name')
    }
}

async function checkSourceSystems(check: Check): Promise<void> {
  const macs = new Map<string, string>()
  for await (const page of check.pages(keys.allSourceSystems()))
    for (const entry of page) {
      const system = check.decode<SourceSystemRecord>('source system', entry)
      if (system === undefined) continue
      const [, company = ''] = partsOfKey(entry.key)
      macs.set(keys.apiKey(system.mac), system.id)
      check.expect(
        keys.sourceSystem(company, system.id) === entry.key,
        'source system',
        entry.key,
        'It is stored under another id',
      )
      check.expect(
        (await check.one(keys.company(company))) !== undefined,
        'source system',
        entry.key,
        'Its company is missing',
      )
      await expectLeads(check, keys.sourceSystemName(company, system.name), system.id)
      const key = await check.read<ApiKeyRecord>('source system', keys.apiKey(system.mac))
      const same = key?.systemId === system.id && key.active === system.active && key.permissions === system.permissions
      check.expect(same, 'source system', keys.apiKey(system.mac), `It does not open ${system.id} as that says`)
    }
  for await (const page of check.pages(keys.apiKeys()))
    for (const { key } of page) check.expect(macs.has(key), 'source system', key, 'A key of no source system')
  for await (const page of check.pages(keys.allSourceSystemNames()))
    for (const entry of page) {
      const [, company = ''] = partsOfKey(entry.key)
      const index = check.decode<{ readonly id: string }>('index', entry)
      const system =
        index && (await check.read<SourceSystemRecord>('source system', keys.sourceSystem(company, index.id)))
      const leads = system !== undefined && keys.sourceSystemName(company, system.name) === entry.key
      check.expect(leads, 'index', entry.key, 'It leads to no source system of this name')
    }
}
