import Type from '#typebox'
import type { CategoryChange, CategoryPath, ChangedCategory } from '../../api/categories.ts'
import type { StagedFile } from '../../api/files.ts'
import type { CompanyId, FileId, WriteOptions } from '../../api/scope.ts'
import { RegistryError } from '../../errors.ts'
import type { Check, Commit, Write } from '../../ports/index.ts'
import { destroy } from '../../store/blob-lifecycle.ts'
import { countOf, putRecord, listEntries, type Read } from '../../store/read.ts'
import { categoryEntries, derivedWrites } from '../../store/derived.ts'
import { keys, lastPartOfKey } from '../../store/keys.ts'
import type { CategoryRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { stagedFileSchema } from '../file/find.ts'
import { attachFiles, removeFile } from '../file/stored-file.ts'
import { idempotentCall, type IdempotentCall, write, type Decision } from '../write.ts'
import type { AuthorizedScope } from '../permissions.ts'
import { CategoryName, clearSchema, closed, opt, Text } from '../../schemas/fields.ts'
import { assertClearOrGiven, validate } from '../../schemas/validation.ts'
import { assertNameFree, categoryPathSchema, fileOwner, readPath } from './stored-category.ts'

/** The same as `CategoryChange` in core/api/categories.ts. */
export const categoryChangeSchema = closed({
  name: opt(CategoryName),
  description: opt(Text),
  clear: opt(clearSchema(['description'])),
  image: opt(stagedFileSchema),
  files: opt(Type.Array(stagedFileSchema, { description: 'an array of staged files' })),
  status: opt(Type.Enum(['active', 'inactive'])),
})

interface UpdateCategory {
  readonly path: CategoryPath
  readonly change: CategoryChange
}

export async function updateCategory(
  context: Context,
  scope: AuthorizedScope,
  { path, change }: UpdateCategory,
  options: WriteOptions = {},
): Promise<ChangedCategory> {
  validate(categoryPathSchema, path)
  validate(categoryChangeSchema, change)
  assertClearOrGiven(change)
  const { companyId } = scope
  return write(context, callOf(context, scope, options, { path, input: change }), async () => {
    const category = await readNamed(context, companyId, path)
    const { parentId } = category.record
    const name = newName(category.record, change)
    if (name !== undefined) await assertNameFree(context, companyId, { name, ...(parentId && { parentId }) })
    await assertRoomForFiles(context, category.record, addedFiles(change).length)
    return decideUpdate(companyId, category, change)
  })
}

/** What the path names. */
async function readNamed(context: Context, companyId: CompanyId, path: CategoryPath): Promise<Read<CategoryRecord>> {
  const { category, subcategory } = await readPath(context, companyId, path)
  return subcategory ?? category
}

/** Of an update or a removal. One idempotency key for both is a conflict: no update has the input of a removal. */
function callOf(
  context: Context,
  scope: AuthorizedScope,
  options: WriteOptions,
  { path: { categoryId, subcategoryId }, input }: { readonly path: CategoryPath; readonly input: object },
): IdempotentCall | undefined {
  const named =
    subcategoryId === undefined
      ? ({ operation: 'updateCategory', ids: [categoryId] } as const)
      : ({ operation: 'updateSubcategory', ids: [categoryId, subcategoryId] } as const)
  return idempotentCall(context, scope, options, { ...named, input })
}

const MAX_FILES = 1_000

/** Every change of the files also writes the category's record, so the number is right when it is committed. */
async function assertRoomForFiles({ records }: Context, { id }: CategoryRecord, added: number): Promise<void> {
  if (added === 0) return
  const { length } = await listEntries(records, { ...keys.filesOf(id), limit: MAX_FILES })
  if (length + added > MAX_FILES)
    throw new RegistryError('TOO_MANY_FILES', `It has ${length} of at most ${MAX_FILES} files: delete some first`)
}

const addedFiles = ({ image, files = [] }: CategoryChange): readonly StagedFile[] =>
  image === undefined ? files : [image, ...files]

/** The name, if the change really changes it. */
const newName = (record: CategoryRecord, { name }: CategoryChange): string | undefined =>
  name === record.name ? undefined : name

/** Name, description, image, files and status change in one commit. */
function decideUpdate(
  companyId: CompanyId,
  { record: before, check }: Read<CategoryRecord>,
  change: CategoryChange,
): Decision<{ imageId?: FileId }> {
  const after = changedRecord(before, change)
  const attached = attachFiles(addedFiles(change), fileOwner(companyId, before))
  const entries = derivedWrites(categoryEntries(companyId, before), categoryEntries(companyId, after))
  const name = newName(before, change)
  const nameKey = name === undefined ? [] : [keys.categoryName(companyId, before.parentId, name)]
  return {
    commit: {
      checks: [check, ...attached.checks, ...nameKey.map((key) => ({ key, version: null }))],
      writes: [putRecord(check.key, after), ...attached.writes, ...entries],
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

/** Differs from the input of every update. */
const REMOVAL = { status: 'removed' } as const

export async function removeCategory(
  context: Context,
  scope: AuthorizedScope,
  path: CategoryPath,
  options: WriteOptions = {},
): Promise<void> {
  validate(categoryPathSchema, path)
  const { companyId } = scope
  let files: readonly string[] = []
  await write(context, callOf(context, scope, options, { path, input: REMOVAL }), async ({ now }) => {
    const category = await readNamed(context, companyId, path)
    const { id } = category.record
    const empty = await emptyChecks(context, companyId, category.record)
    files = (await listEntries(context.records, keys.filesOf(id))).map(({ key }) => lastPartOfKey(key))
    const commit = decideRemove(companyId, category, {
      empty,
      removals: files.flatMap((fileId) => removeFile(id, fileId, now)),
    })
    return { commit: files.length === 0 ? commit : context.erasures.include(commit, id), result: {} }
  })
  if (files.length > 0) context.erasures.request()
  for (const id of files) await destroy(context, id)
}

/** Checks that hold while the category is empty. Throws `CATEGORY_NOT_EMPTY`. */
async function emptyChecks(
  { records }: Context,
  companyId: CompanyId,
  { id, parentId }: CategoryRecord,
): Promise<readonly Check[]> {
  const counters =
    parentId === undefined
      ? [keys.evidenceCount(['category', id]), keys.categoryCount(companyId, id)]
      : [keys.evidenceCount(['category', parentId, id])]
  const entries = await records.get(counters)
  if (entries.some((entry) => countOf(entry) !== 0))
    throw new RegistryError('CATEGORY_NOT_EMPTY', 'Only a category without evidences and subcategories can be removed')
  return counters.map((key, i) => ({ key, version: entries[i]?.version ?? null }))
}

interface Removal {
  readonly empty: readonly Check[]
  /** Of its files. */
  readonly removals: readonly Write[]
}

function decideRemove(
  companyId: CompanyId,
  { record, check }: Read<CategoryRecord>,
  { empty, removals }: Removal,
): Commit {
  return {
    checks: [check, ...empty],
    writes: [{ key: check.key, value: null }, ...derivedWrites(categoryEntries(companyId, record), []), ...removals],
    adds: [{ key: keys.categoryCount(companyId, record.parentId), delta: -1 }],
  }
}
