import { equalBytes } from '../bytes.ts'
import type { Key } from '../ports/index.ts'
import { categoryEntries } from '../store/derived.ts'
import { partsOfKey } from '../store/key.ts'
import { keys } from '../store/keys.ts'
import type { CategoryRecord, FileRecord } from '../store/records.ts'
import { checkAudit } from './audit.ts'
import { staleIf, type Check } from './check.ts'
import { expectCount } from './listings.ts'
import { checkSourceSystems } from './source-systems.ts'

/** An index record: the id of the record that has a name. */
interface IdRecord {
  readonly id: string
}

/** Checks the records of companies: categories and source systems. */
export async function checkCompanies(check: Check): Promise<void> {
  await checkCategories(check)
  await checkCategoryLists(check)
  await checkCategoryNames(check)
  await checkSourceSystems(check)
  await checkAudit(check)
}

async function checkCategories(check: Check): Promise<void> {
  for await (const page of check.pages(keys.allCategories()))
    for (const entry of page) {
      const [, company = ''] = partsOfKey(entry.key)
      const category = check.decode<CategoryRecord>('category', entry)
      if (category !== undefined) await checkCategory(check, company, entry.key, category)
    }
}

async function checkCategory(check: Check, company: string, key: Key, category: CategoryRecord): Promise<void> {
  const { id, parentId } = category
  check.expect(keys.category(company, id) === key, 'category', key, 'It is stored under another id')
  for (const { key: derived, value } of categoryEntries(company, category)) {
    const entry = await check.get(derived)
    const message = `It does not refer to ${id}`
    const isRight = entry !== undefined && equalBytes(entry.value, value)
    check.expectDerived(isRight, { kind: 'index', key: derived, message, repair: value })
  }
  await checkImage(check, key, category)
  if (parentId !== undefined) {
    const parent = await check.read<CategoryRecord>('category', keys.category(company, parentId))
    const isCategory = parent !== undefined && parent.parentId === undefined
    check.expect(isCategory, 'category', key, 'Its category is missing')
  }
}

async function checkImage(check: Check, key: Key, { id, imageId }: CategoryRecord): Promise<void> {
  if (imageId === undefined) return
  const image = await check.read<FileRecord>('file', keys.file(imageId))
  check.expect(image?.ownerId === id, 'category', key, `Its image ${imageId} is missing`)
}

/** Checks that each listed category is one, and counts them. The counter of a removed category stays, with value 0. */
async function checkCategoryLists(check: Check): Promise<void> {
  const counts = new Map<Key, number>()
  for await (const page of check.pages(keys.allCategoryListings()))
    for (const { key } of page) {
      const [, company = '', parent = '', id = ''] = partsOfKey(key)
      await expectEntry(check, key, { company, id })
      const counter = keys.categoryCount(company, parent)
      counts.set(counter, (counts.get(counter) ?? 0) + 1)
    }
  for (const [counter, count] of counts) expectCount(check, counter, await check.get(counter), count)
  for await (const page of check.pages(keys.categoryCounts()))
    for (const entry of page) if (!counts.has(entry.key)) expectCount(check, entry.key, entry, 0)
}

async function checkCategoryNames(check: Check): Promise<void> {
  for await (const page of check.pages(keys.allCategoryNames()))
    for (const entry of page) {
      const [, company = ''] = partsOfKey(entry.key)
      const index = check.decode<IdRecord>('index', entry)
      if (index !== undefined) await expectEntry(check, entry.key, { company, id: index.id })
    }
}

/** Checks that an entry is one of the category to which it refers. */
async function expectEntry(
  check: Check,
  key: Key,
  { company, id }: { readonly company: string; readonly id: string },
): Promise<void> {
  const category = await check.read<CategoryRecord>('category', keys.category(company, id))
  const isRight = category !== undefined && categoryEntries(company, category).some((entry) => entry.key === key)
  const message = 'It does not refer to a category that has it'
  check.expectDerived(isRight, { kind: 'index', key, message, repair: staleIf(category) })
}
