import { countOf } from '../../store/counter.ts'
import { RegistryError } from '../../errors.ts'
import { keys } from '../../store/keys.ts'
import type { Check, Commit, Entry } from '../../ports.ts'
import type { Categories, Scope, StagedFile, WriteOptions } from '../../api/registry.ts'
import {
  CategoryChange,
  NewCategory,
  type CategoryDetails,
  type CategoryList,
  type FileEntry,
  type FileListing,
} from '../schemas.ts'
import { validate } from '../validation.ts'
import { consume, destroy } from '../../store/blob-lifecycle.ts'
import { assertCompany, lastPart, listAll, mustRead, put, write, type Context, type Read } from '../context.ts'
import { filesOf, fileWrites, imageGone } from '../file/files.ts'
import {
  categoryNotFound,
  createCategory,
  createSubcategory,
  newCategory,
  subcategoryNotFound,
} from './new-category.ts'
import { decodeRecord, type CategoryRecord, type SubcategoryRecord } from '../../store/records.ts'

export class RegistryCategories implements Categories {
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  async create(
    scope: Scope,
    input: NewCategory,
    image?: StagedFile,
    options: WriteOptions = {},
  ): Promise<{ readonly id: string }> {
    const { name, description } = validate(NewCategory, input)
    return write(this.#context, scope, options, async ({ now }) => {
      const record = newCategory(this.#context, { name, description, image, now })
      await this.#assertNameFree(keys.categoryName(scope.companyId, name))
      return { commit: createCategory(scope, record, image), answer: { id: record.id } }
    })
  }

  async createSubcategory(
    scope: Scope,
    categoryId: string,
    input: NewCategory,
    image?: StagedFile,
    options: WriteOptions = {},
  ): Promise<{ readonly id: string }> {
    const { name, description } = validate(NewCategory, input)
    return write(this.#context, scope, options, async ({ now }) => {
      const category = await this.#category(scope, categoryId)
      const record: SubcategoryRecord = { ...newCategory(this.#context, { name, description, image, now }), categoryId }
      await this.#assertNameFree(keys.subcategoryName(categoryId, name))
      return { commit: createSubcategory(scope, category.check, record, image), answer: { id: record.id } }
    })
  }

  async list(scope: Scope): Promise<CategoryList> {
    const context = this.#context
    await assertCompany(context, scope)
    const records = (await listAll(context, keys.categories(scope.companyId))).map(({ value }) =>
      decodeRecord<CategoryRecord>(value),
    )
    const categories = await Promise.all(
      records.map(async (record) => {
        const subcategories = await this.#subcategories(scope, record)
        return { id: record.id, ...(await this.#details(record, subcategories)), subcategories }
      }),
    )
    return { categories, count: categories.length }
  }

  async get(scope: Scope, categoryId: string): Promise<CategoryDetails> {
    await assertCompany(this.#context, scope)
    const { record } = await this.#category(scope, categoryId)
    return this.#details(record, await this.#subcategories(scope, record))
  }

  update(
    scope: Scope,
    categoryId: string,
    change: CategoryChange,
    image?: StagedFile,
    options: WriteOptions = {},
  ): Promise<{ readonly imageId?: string }> {
    return this.#change(scope, change, image, options, async () => {
      const read = await this.#category(scope, categoryId)
      return {
        read,
        key: keys.category(scope.companyId, categoryId),
        nameKey: (name) => keys.categoryName(scope.companyId, name),
        owner: { company: scope.companyId, ownerKind: 'category', ownerId: categoryId, version: 0 } as const,
        counters: [keys.evidenceCount('category', categoryId), keys.subcategoryCount(categoryId)],
        removal: {},
      }
    })
  }

  updateSubcategory(
    scope: Scope,
    categoryId: string,
    subcategoryId: string,
    change: CategoryChange,
    image?: StagedFile,
    options: WriteOptions = {},
  ): Promise<{ readonly imageId?: string }> {
    return this.#change(scope, change, image, options, async () => {
      const category = await this.#category(scope, categoryId)
      const read = await this.#subcategory(scope, categoryId, subcategoryId)
      return {
        read,
        key: keys.subcategory(scope.companyId, subcategoryId),
        nameKey: (name) => keys.subcategoryName(categoryId, name),
        owner: { company: scope.companyId, ownerKind: 'subcategory', ownerId: subcategoryId, version: 0 } as const,
        counters: [keys.evidenceCount('subcategory', subcategoryId)],
        removal: {
          checks: [category.check],
          writes: [{ key: keys.subcategoryOf(categoryId, subcategoryId), value: null }],
          adds: [{ key: keys.subcategoryCount(categoryId), delta: -1 }],
        },
      }
    })
  }

  async subcategoryFiles(scope: Scope, categoryId: string, subcategoryId: string): Promise<FileListing> {
    await assertCompany(this.#context, scope)
    await this.#category(scope, categoryId)
    await this.#subcategory(scope, categoryId, subcategoryId)
    const [category, subcategory] = await Promise.all([
      filesOf(this.#context, categoryId),
      filesOf(this.#context, subcategoryId),
    ])
    return { dt: [], category, subcategory }
  }

  /** 4 and 6: one request may change texts, the image and the state, all in one commit. */
  async #change(
    scope: Scope,
    change: CategoryChange,
    image: StagedFile | undefined,
    options: WriteOptions,
    find: () => Promise<Changeable>,
  ): Promise<{ readonly imageId?: string }> {
    const { name, description, action = 'CHANGE' } = validate(CategoryChange, change)
    if (action === 'REMOVE' && (name !== undefined || description !== undefined || image !== undefined))
      throw new RegistryError('VALIDATION_ERROR', 'action: REMOVE takes no other field and no file')
    let replaced: string | undefined
    const answer = await write(this.#context, scope, options, async () => {
      const { read, key, nameKey, owner, counters, removal } = await find()
      const before = read.record
      if (action === 'REMOVE') {
        const empty = await this.#emptyChecks(counters)
        replaced = before.imageId
        return {
          commit: {
            checks: [read.check, ...empty, ...(removal.checks ?? [])],
            writes: [
              { key, value: null },
              { key: nameKey(before.name), value: null },
              ...(removal.writes ?? []),
              ...(before.imageId === undefined ? [] : imageGone(this.#context, before.id, before.imageId)),
            ],
            ...(removal.adds && { adds: removal.adds }),
          },
          answer: {},
        }
      }
      const renamed = name !== undefined && name !== before.name ? name : undefined
      if (renamed !== undefined) await this.#assertNameFree(nameKey(renamed))
      const { description: oldDescription, ...rest } = before
      const text = description ?? oldDescription ?? ''
      const after: CategoryRecord = {
        ...rest,
        ...(text !== '' && { description: text }),
        ...(renamed !== undefined && { name: renamed }),
        ...(action === 'ACTIVATE' && { status: 'active' }),
        ...(action === 'DEACTIVATE' && { status: 'inactive' }),
        ...(image !== undefined && { imageId: image.id }),
      }
      replaced = image === undefined ? undefined : before.imageId
      const staged = image === undefined ? [] : [image]
      return {
        commit: {
          checks: [
            read.check,
            ...consume(staged).checks,
            ...(renamed === undefined ? [] : [{ key: nameKey(renamed), version: null }]),
          ],
          writes: [
            put(key, after),
            ...consume(staged).writes,
            ...fileWrites(staged, owner),
            ...(replaced === undefined ? [] : imageGone(this.#context, before.id, replaced)),
            ...(renamed === undefined
              ? []
              : [{ key: nameKey(before.name), value: null }, put(nameKey(renamed), { id: before.id })]),
          ],
        },
        answer: after.imageId === undefined ? {} : { imageId: after.imageId },
      }
    })
    if (replaced !== undefined) await destroy(this.#context, replaced)
    return answer
  }

  /** Checks that hold while nothing is counted there. */
  async #emptyChecks(counters: readonly string[]): Promise<readonly Check[]> {
    const entries = await this.#context.records.get(counters)
    if (entries.some((entry) => countOf(entry) !== 0))
      throw new RegistryError('CATEGORY_NOT_EMPTY', 'Only what holds no evidences and no subcategories can be removed')
    return entries.map((entry, i) => ({ key: counters[i] as string, version: entry?.version ?? null }))
  }

  async #category({ companyId }: Scope, categoryId: string): Promise<Read<CategoryRecord>> {
    return mustRead<CategoryRecord>(this.#context, keys.category(companyId, categoryId), categoryNotFound)
  }

  async #subcategory(
    { companyId }: Scope,
    categoryId: string,
    subcategoryId: string,
  ): Promise<Read<SubcategoryRecord>> {
    const found = await mustRead<SubcategoryRecord>(
      this.#context,
      keys.subcategory(companyId, subcategoryId),
      subcategoryNotFound,
    )
    if (found.record.categoryId !== categoryId) throw subcategoryNotFound()
    return found
  }

  async #assertNameFree(nameKey: string): Promise<void> {
    const [taken] = await this.#context.records.get([nameKey])
    if (taken !== undefined) throw new RegistryError('NAME_EXISTS', 'name: a sibling has this name')
  }

  async #subcategories({ companyId }: Scope, parent: CategoryRecord): Promise<({ id: string } & CategoryDetails)[]> {
    const index = await listAll(this.#context, keys.subcategoriesOf(parent.id))
    const entries = await this.#context.records.get(index.map(({ key }) => keys.subcategory(companyId, lastPart(key))))
    const records = entries
      .filter((entry): entry is Entry => entry !== undefined)
      .map(({ value }) => decodeRecord<SubcategoryRecord>(value))
    return Promise.all(
      records.map(async (record) => ({
        id: record.id,
        ...(await this.#describe(
          record,
          `/${parent.name}/${record.name}`,
          keys.evidenceCount('subcategory', record.id),
        )),
      })),
    )
  }

  async #details(
    record: CategoryRecord,
    subcategories: readonly { readonly fileIds: readonly FileEntry[] }[],
  ): Promise<CategoryDetails> {
    const own = await this.#describe(record, `/${record.name}`, keys.evidenceCount('category', record.id))
    return { ...own, fileIds: [...own.fileIds, ...subcategories.flatMap(({ fileIds }) => fileIds)] }
  }

  async #describe(record: CategoryRecord, path: string, counter: string): Promise<CategoryDetails> {
    const [[count], fileIds] = await Promise.all([
      this.#context.records.get([counter]),
      filesOf(this.#context, record.id),
    ])
    return {
      path,
      name: record.name,
      status: record.status,
      fileIds,
      digitalTwinsCount: countOf(count),
      ...(record.imageId !== undefined && { imageId: record.imageId }),
      ...(record.description !== undefined && { description: record.description }),
    }
  }
}

/** What a change needs to know of a category or subcategory. */
interface Changeable {
  readonly read: Read<CategoryRecord>
  readonly key: string
  readonly nameKey: (name: string) => string
  readonly owner: Parameters<typeof fileWrites>[1]
  /** All must be zero for a removal. */
  readonly counters: readonly string[]
  /** What a removal commits beside the record itself. */
  readonly removal: Pick<Commit, 'checks' | 'writes' | 'adds'>
}
