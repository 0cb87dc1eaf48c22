import type { CategoryChange, ChangedCategory, SubcategoryPath } from '../../api/categories.ts'
import type { StagedFile } from '../../api/files.ts'
import type { FileId } from '../../api/ids.ts'
import type { WriteOptions } from '../../api/writes.ts'
import { RegistryError } from '../../errors.ts'
import { keys } from '../../store/keys.ts'
import { listEntries } from '../../store/read.ts'
import { putRecord } from '../../store/record-codec.ts'
import type { CategoryRecord, NameRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { attachFiles } from '../file/stored-file.ts'
import { idempotentCall, type IdempotentCall } from '../idempotency.ts'
import type { AuthorizedScope } from '../permissions.ts'
import { IdToFind } from '../schemas.ts'
import { assertClearOrGiven, validate } from '../validation.ts'
import { write, type Decision } from '../write.ts'
import { categoryChangeSchema, subcategoryPathSchema } from './input.ts'
import { assertNameFree, loadCategory, loadSubcategory, type StoredCategory } from './stored-category.ts'

interface UpdateCategory {
  readonly categoryId: string
  readonly change: CategoryChange
}

export async function updateCategory(
  context: Context,
  scope: AuthorizedScope,
  { categoryId, change }: UpdateCategory,
  options: WriteOptions = {},
): Promise<ChangedCategory> {
  validate(IdToFind, categoryId, 'categoryId')
  assertChange(change)
  const call = idempotentCall(context, scope, options, {
    operation: 'updateCategory',
    ids: [categoryId],
    input: change,
  })
  return update(context, call, change, () => loadCategory(context, scope.companyId, categoryId))
}

interface UpdateSubcategory {
  readonly path: SubcategoryPath
  readonly change: CategoryChange
}

export async function updateSubcategory(
  context: Context,
  scope: AuthorizedScope,
  { path, change }: UpdateSubcategory,
  options: WriteOptions = {},
): Promise<ChangedCategory> {
  validate(subcategoryPathSchema, path)
  assertChange(change)
  const call = idempotentCall(context, scope, options, {
    operation: 'updateSubcategory',
    ids: [path.categoryId, path.subcategoryId],
    input: change,
  })
  return update(context, call, change, () => loadSubcategory(context, scope.companyId, path))
}

function assertChange(change: CategoryChange): void {
  validate(categoryChangeSchema, change)
  assertClearOrGiven(change)
}

async function update(
  context: Context,
  call: IdempotentCall | undefined,
  change: CategoryChange,
  load: () => Promise<StoredCategory>,
): Promise<ChangedCategory> {
  return write(context, call, async () => {
    const category = await load()
    const name = newName(category, change)
    if (name !== undefined) await assertNameFree(context, category.nameKey(name))
    await assertRoomForFiles(context, category, addedFiles(change).length)
    return decideUpdate(category, change)
  })
}

const MAX_FILES = 1_000

/** Every change of the files also writes the category's record, so the number is right when it is committed. */
async function assertRoomForFiles({ records }: Context, { record }: StoredCategory, added: number): Promise<void> {
  if (added === 0) return
  const { length } = await listEntries(records, { ...keys.filesOf(record.id), limit: MAX_FILES })
  if (length + added > MAX_FILES)
    throw new RegistryError('TOO_MANY_FILES', `It has ${length} of at most ${MAX_FILES} files: delete some first`)
}

const addedFiles = ({ image, files = [] }: CategoryChange): readonly StagedFile[] =>
  image === undefined ? files : [image, ...files]

/** The name, if the change really changes it. */
const newName = ({ record }: StoredCategory, { name }: CategoryChange): string | undefined =>
  name === record.name ? undefined : name

/** Name, description, image, files and status change in one commit. */
function decideUpdate(category: StoredCategory, change: CategoryChange): Decision<{ imageId?: FileId }> {
  const { record: before, check, key, nameKey, fileOwner } = category
  const after = changedRecord(before, change)
  const files = addedFiles(change)
  const attached = attachFiles(files, fileOwner)
  const name = newName(category, change)
  const renaming =
    name === undefined
      ? []
      : [{ key: nameKey(before.name), value: null }, putRecord(nameKey(name), { id: before.id } satisfies NameRecord)]
  return {
    commit: {
      checks: [check, ...attached.checks, ...(name === undefined ? [] : [{ key: nameKey(name), version: null }])],
      writes: [putRecord(key, after), ...attached.writes, ...renaming],
    },
    result: after.imageId === undefined ? {} : { imageId: after.imageId },
  }
}

function changedRecord(
  before: CategoryRecord,
  { name, description = '', clear = [], image, status }: CategoryChange,
): CategoryRecord {
  const { description: oldDescription = '', ...rest } = before
  const newDescription = clear.includes('description') ? '' : description || oldDescription
  return {
    ...rest,
    ...(newDescription !== '' && { description: newDescription }),
    ...(name !== undefined && { name }),
    ...(status !== undefined && { status }),
    ...(image !== undefined && { imageId: image.id }),
  }
}
