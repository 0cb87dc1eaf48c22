import type { StagedFile } from '../../api/files.ts'
import type { CategoryId, CompanyId, SubcategoryId } from '../../api/ids.ts'
import type { IdSource } from '../../ids.ts'
import type { Check, Key } from '../../ports/index.ts'
import { keys } from '../../store/keys.ts'
import { putRecord } from '../../store/record-codec.ts'
import type { CategoryRecord, NameRecord, SubcategoryRecord } from '../../store/records.ts'
import { attachFiles, type FileOwnerRef } from '../file/stored-file.ts'
import type { CommitPart } from './category-cache.ts'

/** How categories and subcategories are created: by a request of their own, or by the first evidence in them. */

interface CategoryDraft {
  readonly name: string
  readonly description?: string
  readonly image?: StagedFile
}

/** The record of a new category or subcategory. */
export const newCategory = <Id extends CategoryId | SubcategoryId>(
  ids: IdSource,
  { name, description = '', image }: CategoryDraft,
  now: number,
): CategoryRecord<Id> => ({
  id: ids.next(),
  name,
  status: 'active',
  createdAt: now,
  ...(description !== '' && { description }),
  ...(image !== undefined && { imageId: image.id }),
})

/** Creates a category. The commit holds while the name is free. */
export function decideCategory(
  companyId: CompanyId,
  record: CategoryRecord<CategoryId>,
  image?: StagedFile,
): CommitPart {
  return creation(record, image, {
    key: keys.category(companyId, record.id),
    nameKey: keys.categoryName(companyId, record.name),
    fileOwner: { company: companyId, ownerKind: 'category', ownerId: record.id, version: 0 },
  })
}

interface SubcategoryCreation {
  readonly companyId: CompanyId
  readonly record: SubcategoryRecord
  /** Makes sure that the category still exists; not needed if the same commit creates it. */
  readonly categoryCheck?: Check
  readonly image?: StagedFile
}

/** Creates a subcategory. The commit holds while the name is free and the category is as it was read. */
export function decideSubcategory({ companyId, record, categoryCheck, image }: SubcategoryCreation): CommitPart {
  const { checks, writes } = creation(record, image, {
    key: keys.subcategory(companyId, record.id),
    nameKey: keys.subcategoryName(record.categoryId, record.name),
    fileOwner: { company: companyId, ownerKind: 'subcategory', ownerId: record.id, version: 0 },
  })
  return {
    checks: categoryCheck === undefined ? checks : [...checks, categoryCheck],
    writes: [...writes, { key: keys.subcategoryOf(record.categoryId, record.id), value: new Uint8Array() }],
    adds: [{ key: keys.subcategoryCount(record.categoryId), delta: 1 }],
  }
}

interface CreationKeys {
  readonly key: Key
  readonly nameKey: Key
  readonly fileOwner: FileOwnerRef
}

/** What both have in common: the record, its name, and its image. */
function creation(
  record: CategoryRecord,
  image: StagedFile | undefined,
  { key, nameKey, fileOwner }: CreationKeys,
): CommitPart {
  const attached = attachFiles(image === undefined ? [] : [image], fileOwner)
  return {
    checks: [{ key: nameKey, version: null }, ...attached.checks],
    writes: [putRecord(nameKey, { id: record.id } satisfies NameRecord), putRecord(key, record), ...attached.writes],
    adds: [],
  }
}
