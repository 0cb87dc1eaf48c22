import { RegistryError } from '../../errors.ts'
import { keys } from '../../store/keys.ts'
import type { Check, Key } from '../../ports.ts'
import type { Scope, StagedFile } from '../../api/registry.ts'
import { consume } from '../../store/blob-lifecycle.ts'
import { put, type Context } from '../context.ts'
import { fileWrites } from '../file/files.ts'
import type { CategoryRecord, FileOwner, SubcategoryRecord } from '../../store/records.ts'

/** Categories and subcategories as they are made: by a request of their own, or by the first evidence in them. */

export const categoryNotFound = (): RegistryError =>
  new RegistryError('CATEGORY_NOT_FOUND', 'There is no such category in this company')
export const subcategoryNotFound = (): RegistryError =>
  new RegistryError('SUBCATEGORY_NOT_FOUND', 'There is no such subcategory in this category')

interface CategoryDraft {
  readonly name: string
  readonly description?: string | undefined
  readonly image?: StagedFile | undefined
  readonly now: number
}

export const newCategory = (context: Context, { name, description, image, now }: CategoryDraft): CategoryRecord => ({
  id: context.ids.next(),
  name,
  status: 'active',
  createdAt: now,
  ...(description !== undefined && description !== '' && { description }),
  ...(image !== undefined && { imageId: image.id }),
})

/** The commit that creates a category; it holds while the name is free. */
export const createCategory = ({ companyId }: Scope, record: CategoryRecord, image?: StagedFile) =>
  creation(record, image, {
    company: companyId,
    ownerKind: 'category',
    key: keys.category(companyId, record.id),
    nameKey: keys.categoryName(companyId, record.name),
  })

/** The commit that creates a subcategory; it holds while the name is free and the category as it was read. */
export function createSubcategory(
  { companyId }: Scope,
  parent: Check | undefined,
  record: SubcategoryRecord,
  image?: StagedFile,
) {
  const { checks, writes } = creation(record, image, {
    company: companyId,
    ownerKind: 'subcategory',
    key: keys.subcategory(companyId, record.id),
    nameKey: keys.subcategoryName(record.categoryId, record.name),
  })
  return {
    checks: parent === undefined ? checks : [...checks, parent],
    writes: [...writes, { key: keys.subcategoryOf(record.categoryId, record.id), value: new Uint8Array() }],
    adds: [{ key: keys.subcategoryCount(record.categoryId), delta: 1 }],
  }
}

interface Made {
  readonly company: string
  readonly ownerKind: FileOwner
  readonly key: Key
  readonly nameKey: Key
}

/** What both have in common: the record, its name, and its image. */
function creation(record: CategoryRecord, image: StagedFile | undefined, { key, nameKey, company, ownerKind }: Made) {
  const files = image === undefined ? [] : [image]
  const used = consume(files)
  return {
    checks: [{ key: nameKey, version: null }, ...used.checks],
    writes: [
      put(nameKey, { id: record.id }),
      put(key, record),
      ...used.writes,
      ...fileWrites(files, { company, ownerKind, ownerId: record.id, version: 0 }),
    ],
  }
}
