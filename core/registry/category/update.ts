import type { Categories } from '../../api/categories.ts'
import { CategoryChange, CategoryPath } from '../../schemas/category-inputs.ts'
import type { CompanyId, FileId } from '../../api/scope.ts'
import { RegistryError } from '../../errors.ts'
import type { Check, Commit, Write } from '../../ports/index.ts'
import { canonicalJson } from '../../commitment/canonical-json.ts'
import { destroy } from '../../store/blob-lifecycle.ts'
import { countOf, readCount } from '../../store/counter.ts'
import { putRecord, derivedWrites } from '../../store/entries.ts'
import { type Read } from '../../store/read.ts'
import { categoryEntries } from '../../store/derived.ts'
import { isSameName, keys, lastPartOfKey } from '../../store/keys.ts'
import type { CategoryRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { givenFiles } from '../file/given-files.ts'
import { attachFiles, countFiles, listFileEntries, removeFile } from '../file/stored-file.ts'
import { type AuthorizedScope, enterCompany, permits } from '../permissions.ts'
import { assertVersion, type Attempt, type Decision } from '../write.ts'
import { assertClearOrGiven, invalidInput, validate } from '../../schemas/validation.ts'
import { assertCategoryNameFree, fileOwner, readPath } from './stored-category.ts'

/** Changes a category or subcategory. It holds while it is as it was read, and a new name is free. */
export const updateCategory =
  (context: Context): Categories['update'] =>
  async (scope, path, change, options = {}) => {
    const entered = await enterCompany(context, scope, 'U')
    validate(CategoryPath, path)
    validate(CategoryChange, change)
    assertClearOrGiven(change)
    assertMayPublish(entered, path, change)
    const { companyId } = entered
    return context.write({ scope: entered, options, ...namedBy(path), input: change }, async (attempt) => {
      const category = await readNamed(context, companyId, path)
      const { parentId, version } = category.record
      assertVersion(options, version, 'the category')
      const name = newName(category.record, change)
      if (name !== undefined) await assertCategoryNameFree(context, companyId, { name, ...(parentId && { parentId }) })
      await assertRoomForFiles(context, companyId, category.record, givenFiles(change).files.length)
      return decideUpdate(companyId, category, change, attempt)
    })
  }

/** Throws `FORBIDDEN` below level `A`, and `VALIDATION_ERROR` for a subcategory. */
function assertMayPublish({ principal }: AuthorizedScope, path: CategoryPath, { publicStatus }: CategoryChange): void {
  if (publicStatus === undefined) return
  if (!permits(principal, 'A')) throw new RegistryError('FORBIDDEN', 'publicStatus requires level A')
  if (path.subcategoryId !== undefined)
    throw invalidInput('publicStatus', 'belongs to a category: change that of the category instead')
}

/** What the path names. */
async function readNamed(context: Context, companyId: CompanyId, path: CategoryPath): Promise<Read<CategoryRecord>> {
  const { category, subcategory } = await readPath(context, companyId, path)
  return subcategory ?? category
}

/** Of an update or a removal. One idempotency key for both is a conflict: no update has the input of a removal. */
const namedBy = ({ categoryId, subcategoryId }: CategoryPath) =>
  subcategoryId === undefined
    ? ({ operation: 'updateCategory', ids: [categoryId] } as const)
    : ({ operation: 'updateSubcategory', ids: [categoryId, subcategoryId] } as const)

const MAX_FILES = 1_000

/** Every change of the files also writes the category's record, so the number is right when it is committed. */
async function assertRoomForFiles(
  { records }: Context,
  companyId: CompanyId,
  { id }: CategoryRecord,
  added: number,
): Promise<void> {
  if (added === 0) return
  const { count } = await readCount(records, [keys.fileCount(companyId, id)])
  if (count + added > MAX_FILES)
    throw new RegistryError('TOO_MANY_FILES', `It has ${count} of at most ${MAX_FILES} files: delete some first`)
}

/** The name, if the change makes it another one. The same name may be written in another way. */
const newName = (record: CategoryRecord, { name }: CategoryChange): string | undefined =>
  name === undefined || isSameName(name, record.name) ? undefined : name

/** Name, description, image, files and status change in one commit. */
function decideUpdate(
  companyId: CompanyId,
  { record: before, check }: Read<CategoryRecord>,
  change: CategoryChange,
  attempt: Attempt,
): Decision<{ imageId?: FileId }> {
  const { image, files } = givenFiles(change)
  const changed = changedRecord(before, change, image?.id)
  const isChange = files.length > 0 || canonicalJson({ ...changed }) !== canonicalJson({ ...before })
  const after = isChange ? { ...changed, version: before.version + 1 } : changed
  const attached = attachFiles(files, fileOwner(companyId, before), attempt)
  const entries = derivedWrites(categoryEntries(companyId, before), categoryEntries(companyId, after))
  const name = newName(before, change)
  const nameKey = name === undefined ? [] : [keys.categoryName(companyId, before.parentId, name)]
  return {
    commit: {
      checks: [check, ...attached.checks, ...nameKey.map((key) => ({ key, version: null }))],
      writes: [putRecord(keys.category(companyId, before.id), after), ...attached.writes, ...entries],
      adds: attached.adds,
    },
    result: after.imageId === undefined ? {} : { imageId: after.imageId },
  }
}

function changedRecord(
  before: CategoryRecord,
  { name, description = '', clear = [], status, publicStatus }: CategoryChange,
  imageId: FileId | undefined,
): CategoryRecord {
  const { description: oldDescription = '', publicStatus: wasPublic = false, ...rest } = before
  const newDescription = clear.includes('description') ? '' : description || oldDescription
  return {
    ...rest,
    ...(newDescription !== '' && { description: newDescription }),
    ...(name !== undefined && { name }),
    ...(status !== undefined && { status }),
    ...(imageId !== undefined && { imageId }),
    ...((publicStatus ?? wasPublic) && { publicStatus: true }),
  }
}

/** Differs from the input of every update. */
const REMOVAL = { status: 'removed' } as const

/** Removes a category that is empty, with its files. */
export const removeCategory =
  (context: Context): Categories['remove'] =>
  async (scope, path, options = {}) => {
    const entered = await enterCompany(context, scope, 'U')
    validate(CategoryPath, path)
    const { companyId } = entered
    let files: readonly string[] = []
    await context.write({ scope: entered, options, ...namedBy(path), input: REMOVAL }, async ({ now }) => {
      const category = await readNamed(context, companyId, path)
      const { id, version } = category.record
      assertVersion(options, version, 'the category')
      const empty = await emptyChecks(context, companyId, category.record)
      const owner = { company: companyId, ownerId: id }
      files = (await listFileEntries(context, owner)).map(({ key }) => lastPartOfKey(key))
      const removals = files.flatMap((fileId) => removeFile(owner, fileId, now))
      const commit = decideRemove(companyId, category, { empty, removals, fileCount: files.length })
      return { commit: files.length === 0 ? commit : context.erasures.include(commit, id), result: {} }
    })
    if (files.length > 0) context.erasures.request()
    for (const id of files) await destroy(context, id, scope.logFields)
  }

/** Checks that hold while the category is empty. Throws `CATEGORY_NOT_EMPTY`. */
async function emptyChecks(
  { records }: Context,
  companyId: CompanyId,
  { id, parentId }: CategoryRecord,
): Promise<readonly Check[]> {
  const counters =
    parentId === undefined ? [keys.categoryCount(companyId, id)] : [keys.evidenceCount(['sub', companyId, id])]
  const entries = await records.get(counters)
  if (entries.some((entry) => countOf(entry) !== 0))
    throw new RegistryError('CATEGORY_NOT_EMPTY', 'Only a category without evidences and subcategories can be removed')
  return counters.map((key, i) => ({ key, version: entries[i]?.version ?? null }))
}

interface Removal {
  readonly empty: readonly Check[]
  /** Of its files. */
  readonly removals: readonly Write[]
  readonly fileCount: number
}

function decideRemove(
  companyId: CompanyId,
  { record, check }: Read<CategoryRecord>,
  { empty, removals, fileCount }: Removal,
): Commit {
  return {
    checks: [check, ...empty],
    writes: [{ key: check.key, value: null }, ...derivedWrites(categoryEntries(companyId, record), []), ...removals],
    adds: [
      { key: keys.categoryCount(companyId, record.parentId), delta: -1 },
      ...countFiles({ company: companyId, ownerId: record.id }, -fileCount),
    ],
  }
}
