import type { SubcategoryPath } from '../../schemas/category-inputs.ts'
import type { CategorySelector } from '../../schemas/evidence-inputs.ts'
import type { CategoryId, CompanyId } from '../../api/scope.ts'
import { RegistryError } from '../../errors.ts'
import { isSameName, keys } from '../../store/keys.ts'
import { readEntry, readRecord, readReferred, type Read } from '../../store/read.ts'
import type { CategoryRecord } from '../../store/records.ts'
import { BoundedMap } from '../../store/bounded-map.ts'
import type { Context } from '../context.ts'
import type { Attempt, CommitPart } from '../write.ts'
import { decideCategory, newCategory } from './create.ts'
import { readCategory, readPath, type Level } from './stored-category.ts'

/** How a request names the category and subcategory of a new evidence. */
interface CategoryNames {
  readonly category: CategorySelector
  readonly subcategory: CategorySelector
}

/** The category and subcategory of a new evidence, and what the commit must check and write for them. */
export interface ResolvedCategory extends CommitPart {
  readonly category: CategoryRecord
  readonly subcategory: CategoryRecord
}

/** About 1 KiB each. */
const MAX_CACHED_CATEGORIES = 1_024

/** Finds the categories of new evidences, and caches those of recent ones. */
export class CategoryResolver {
  readonly #context: Context
  /** By how requests name them. */
  readonly #resolved = new BoundedMap<string, ResolvedCategory>(MAX_CACHED_CATEGORIES)

  constructor(context: Context) {
    this.#context = context
  }

  /** The category and subcategory with these ids. Both must be active. */
  byId(companyId: CompanyId, path: SubcategoryPath, attempt: Attempt): Promise<ResolvedCategory> {
    const names = { category: { id: path.categoryId }, subcategory: { id: path.subcategoryId } }
    return this.#cachedOr(companyId, names, attempt, async () => {
      const { category, subcategory } = await readPath(this.#context, companyId, path)
      return resolved(category, subcategory)
    })
  }

  /**
   * The category and subcategory that these ids or names select. Each selector must have an id or a name; that of the
   * category need not if the subcategory has an id. A name that does not exist yet is created in the commit of the
   * evidence, so that two simultaneous creates with the same new name share one category.
   */
  byNames(companyId: CompanyId, names: CategoryNames, attempt: Attempt): Promise<ResolvedCategory> {
    return this.#cachedOr(companyId, names, attempt, () => findOrCreate(this.#context, companyId, names, attempt))
  }

  /**
   * In the first attempt a cached one, so that the next evidence in the same category needs no reads. Its commit checks
   * that both records still have the versions they were read with. If not, the write is decided again from the store. A
   * name is a part of the record that it leads to, so an unchanged record still has the name.
   */
  async #cachedOr(
    companyId: CompanyId,
    { category, subcategory }: CategoryNames,
    { conflicts }: Attempt,
    find: () => Promise<ResolvedCategory>,
  ): Promise<ResolvedCategory> {
    // No company, id or name contains a NUL.
    const key = [companyId, category.id, category.name, subcategory.id, subcategory.name].join('\0')
    const cached = conflicts.length === 0 ? this.#resolved.get(key) : undefined
    if (cached !== undefined) return cached
    const found = await find()
    // A category that the commit has yet to create has no version.
    if (found.writes.length === 0) this.#resolved.set(key, found)
    return found
  }
}

async function findOrCreate(
  context: Context,
  companyId: CompanyId,
  names: CategoryNames,
  attempt: Attempt,
): Promise<ResolvedCategory> {
  const { ids } = context
  const found = await select(context, companyId, await categoryOf(context, companyId, names))
  const category = found?.record ?? newCategory(ids, { name: nameOf(names.category) }, attempt.now)
  // Of a new category it finds nothing, or rejects the id of a subcategory, which can only be in another one.
  const foundIn = await select(context, companyId, names.subcategory, category.id)
  if (found !== undefined && foundIn !== undefined) return resolved(found, foundIn)
  assertActive(category)
  const subcategory = newCategory(ids, { name: nameOf(names.subcategory), parentId: category.id }, attempt.now)
  const parts = [
    ...(found === undefined ? [decideCategory(companyId, category, attempt)] : []),
    decideCategory(companyId, subcategory, attempt, { parent: found?.check }),
  ]
  return { category, subcategory, ...mergeParts(parts) }
}

/** Selects the category. That of a subcategory which is selected by its id alone follows from it. */
async function categoryOf(
  context: Context,
  companyId: CompanyId,
  { category, subcategory }: CategoryNames,
): Promise<CategorySelector> {
  if (isGiven(category) || subcategory.id === undefined) return category
  const { record } = await readCategory(context, companyId, 'subcategory', subcategory.id)
  return record.parentId === undefined ? category : { id: record.parentId }
}

/** Whether a selector selects something. */
export const isGiven = ({ id, name }: CategorySelector): boolean => id !== undefined || name !== undefined

/** Of a selector without an id, which always has a name. */
const nameOf = ({ name = '' }: CategorySelector): string => name

/**
 * The category that a selector names, or the subcategory of `parentId`. `undefined` if none has the name. An id takes
 * precedence over a name.
 */
async function select(
  context: Context,
  companyId: CompanyId,
  selector: CategorySelector,
  parentId?: CategoryId,
): Promise<Read<CategoryRecord> | undefined> {
  const { records } = context
  if (selector.id !== undefined) {
    const level = parentId === undefined ? 'category' : 'subcategory'
    const read = await readCategory(context, companyId, level, selector.id)
    if (read.record.parentId !== parentId)
      throw mismatch('subcategory.id', 'subcategory.id is a subcategory of another category')
    return assertSameName(level, read, selector)
  }
  const name = nameOf(selector)
  const named = await readRecord(records, keys.categoryName(companyId, parentId, name))
  const entry = named && (await readReferred(records, named.check, keys.category(companyId, named.record.id)))
  const read = entry && readEntry(entry)
  // A record that was renamed between the two reads is not the one that was selected.
  return read !== undefined && isSameName(read.record.name, name) ? read : undefined
}

function assertSameName(level: Level, read: Read<CategoryRecord>, { name }: CategorySelector): Read<CategoryRecord> {
  if (name === undefined || isSameName(name, read.record.name)) return read
  const plural = level === 'category' ? 'categories' : 'subcategories'
  throw mismatch(level, `${level} has an id and a name of two different ${plural}`)
}

function resolved(category: Read<CategoryRecord>, subcategory: Read<CategoryRecord>): ResolvedCategory {
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

const mismatch = (field: string, message: string): RegistryError =>
  new RegistryError('CATEGORY_MISMATCH', message, { field })
