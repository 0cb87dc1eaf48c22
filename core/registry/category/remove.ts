import type { SubcategoryPath } from '../../api/categories.ts'
import type { WriteOptions } from '../../api/writes.ts'
import { RegistryError } from '../../errors.ts'
import type { Check, Commit, Write } from '../../ports/index.ts'
import { destroy } from '../../store/blob-lifecycle.ts'
import { countOf } from '../../store/counter.ts'
import { lastPartOfKey } from '../../store/key.ts'
import { keys } from '../../store/keys.ts'
import { listEntries } from '../../store/read.ts'
import type { Context } from '../context.ts'
import { removeFile } from '../file/stored-file.ts'
import { idempotentCall, type IdempotentCall } from '../idempotency.ts'
import type { AuthorizedScope } from '../permissions.ts'
import { IdToFind } from '../schemas.ts'
import { validate } from '../validation.ts'
import { write } from '../write.ts'
import { subcategoryPathSchema } from './input.ts'
import { loadCategory, loadSubcategory, type StoredCategory } from './stored-category.ts'

/** Differs from the input of every update, so that one idempotency key for an update and a removal is a conflict. */
const REMOVAL = { status: 'removed' } as const

export async function removeCategory(
  context: Context,
  scope: AuthorizedScope,
  categoryId: string,
  options: WriteOptions = {},
): Promise<void> {
  validate(IdToFind, categoryId, 'categoryId')
  const call = idempotentCall(context, scope, options, {
    operation: 'updateCategory',
    ids: [categoryId],
    input: REMOVAL,
  })
  await remove(context, call, () => loadCategory(context, scope.companyId, categoryId))
}

export async function removeSubcategory(
  context: Context,
  scope: AuthorizedScope,
  path: SubcategoryPath,
  options: WriteOptions = {},
): Promise<void> {
  validate(subcategoryPathSchema, path)
  const call = idempotentCall(context, scope, options, {
    operation: 'updateSubcategory',
    ids: [path.categoryId, path.subcategoryId],
    input: REMOVAL,
  })
  await remove(context, call, () => loadSubcategory(context, scope.companyId, path))
}

async function remove(
  context: Context,
  call: IdempotentCall | undefined,
  load: () => Promise<StoredCategory>,
): Promise<void> {
  let files: readonly string[] = []
  await write(context, call, async ({ now }) => {
    const category = await load()
    const empty = await emptyChecks(context, category)
    const listing = await listEntries(context.records, keys.filesOf(category.record.id))
    files = listing.map(({ key }) => lastPartOfKey(key))
    const removals = files.flatMap((id) => removeFile(category.record.id, id, now))
    const commit = decideRemove(category, empty, removals)
    return { commit: files.length === 0 ? commit : context.erasures.include(commit, category.record.id), result: {} }
  })
  if (files.length > 0) context.erasures.request()
  for (const id of files) await destroy(context, id)
}

/** Checks that hold while the category is empty. Throws `CATEGORY_NOT_EMPTY`. */
async function emptyChecks({ records }: Context, { counters }: StoredCategory): Promise<readonly Check[]> {
  const entries = await records.get(counters)
  if (entries.some((entry) => countOf(entry) !== 0))
    throw new RegistryError('CATEGORY_NOT_EMPTY', 'Only a category without evidences and subcategories can be removed')
  return counters.map((key, i) => ({ key, version: entries[i]?.version ?? null }))
}

function decideRemove(
  { record, check, key, nameKey, removal: { checks = [], writes = [], adds = [] } }: StoredCategory,
  empty: readonly Check[],
  fileRemovals: readonly Write[],
): Commit {
  return {
    checks: [check, ...empty, ...checks],
    writes: [{ key, value: null }, { key: nameKey(record.name), value: null }, ...writes, ...fileRemovals],
    adds,
  }
}
