import type {
  CreatedEvidence,
  EvidenceInput,
  NewEvidence,
  NewEvidences,
  CategorySelector,
} from '../../api/evidences.ts'
import type { EvidenceId, TxId, WriteOptions } from '../../api/scope.ts'
import { RegistryError } from '../../errors.ts'
import { keys } from '../../store/keys.ts'
import { categoryById, resolveCategory } from '../category/resolve.ts'
import type { CategoryRef, Context } from '../context.ts'
import { idempotentCall, write, type Attempt } from '../write.ts'
import type { AuthorizedScope } from '../permissions.ts'
import { invalidInput, metaText, validate } from '../../schemas/validation.ts'
import { newEvidencesSchema, newEvidenceSchema } from './input.ts'
import {
  makeEvidences,
  type MakeRequest,
  type EvidenceFiles,
  stagedFiles,
  type EvidenceDraft,
  type MadeEvidences,
} from './make.ts'
import { toHex } from '../../bytes.ts'
import type { Commit, LogAppend } from '../../ports/index.ts'
import { attachFiles } from '../file/stored-file.ts'

export async function createEvidence(
  context: Context,
  scope: AuthorizedScope,
  input: NewEvidence,
  options: WriteOptions = {},
): Promise<CreatedEvidence> {
  assertNewEvidence(input)
  const { category, subcategory, image, files = [], ...evidence } = input
  const call = idempotentCall(context, scope, options, { operation: 'createEvidence', input })
  return write(context, call, async (attempt) => {
    const ref = await resolveCategory(context, scope.companyId, { category, subcategory }, attempt)
    await prepare(context, scope, [evidence], attempt)
    const request = requestOf(context, scope, { ref, files: { image, files }, evidences: [evidence] })
    const made = makeEvidences(request)
    return { commit: decideCreate(ref, request, made), result: createdEvidence(request.drafts[0], made.append[0]) }
  })
}

export async function createEvidences(
  context: Context,
  scope: AuthorizedScope,
  input: NewEvidences,
  options: WriteOptions = {},
): Promise<readonly CreatedEvidence[]> {
  validate(newEvidencesSchema, input)
  const { categoryId, subcategoryId, image, files = [], evidences } = input
  assertBulk(evidences, { image, files })
  const ids = [categoryId, subcategoryId]
  const call = idempotentCall(context, scope, options, { operation: 'createEvidences', ids, input })
  return write(context, call, async (attempt) => {
    const ref = await categoryById(context, scope.companyId, { categoryId, subcategoryId }, attempt)
    await prepare(context, scope, evidences, attempt)
    const request = requestOf(context, scope, { ref, files: { image, files }, evidences })
    const made = await context.bulkCreates.make(request)
    const result = request.drafts.map((draft, i) => createdEvidence(draft, made.append[i]))
    return { commit: decideCreate(ref, request, made), result }
  })
}

interface RequestParts {
  readonly ref: CategoryRef
  readonly files: EvidenceFiles
  readonly evidences: readonly EvidenceInput[]
}

const requestOf = (
  { origin, ids }: Context,
  { companyId, actor }: AuthorizedScope,
  { ref, files, evidences }: RequestParts,
): MakeRequest => ({
  target: { origin, actor, companyId, categoryId: ref.category.id, subcategoryId: ref.subcategory.id, files },
  drafts: evidences.map((input) => ({ id: ids.next<EvidenceId>(), input })),
})

function assertBulk(evidences: readonly EvidenceInput[], { image, files }: EvidenceFiles): void {
  if (evidences.length > 1 && (image !== undefined || files.length > 0))
    throw invalidInput('evidences', 'must be a single evidence if files are given')
  const externalIds = new Set<string>()
  for (const [i, { externalId, meta }] of evidences.entries()) {
    if (meta !== undefined) metaText(meta, `evidences[${i}].meta`)
    if (externalIds.has(externalId)) throw externalIdExists(externalId, 'is in this request twice')
    externalIds.add(externalId)
  }
}

/**
 * The first attempt does not look the external ids up: nearly all of them are new, and if not, the commit fails on its
 * checks. The attempt after that throws `EXTERNAL_ID_EXISTS` here.
 */
async function prepare(
  context: Context,
  { companyId }: AuthorizedScope,
  evidences: readonly EvidenceInput[],
  { isFirst }: Attempt,
): Promise<void> {
  context.gate.assertClock()
  if (isFirst) return
  const entries = await context.records.get(evidences.map(({ externalId }) => keys.externalId(externalId, companyId)))
  const used = evidences.find((_, i) => entries[i] !== undefined)
  if (used !== undefined) throw externalIdExists(used.externalId, 'is in use in this company')
}

const externalIdExists = (externalId: string, problem: string): RegistryError =>
  new RegistryError('EXTERNAL_ID_EXISTS', `externalId ${JSON.stringify(externalId)} ${problem}`, {
    field: 'externalId',
  })

/**
 * One commit for all evidences. It holds while the external ids are free, and the categories and staged files as they
 * were.
 */
export function decideCreate(
  ref: CategoryRef,
  { target, drafts }: MakeRequest,
  { writes, append }: MadeEvidences,
): Commit {
  const { companyId, categoryId, subcategoryId } = target
  const staged = stagedFiles(target.files)
  const counters = [
    ['company', companyId],
    ['category', categoryId],
    ['category', categoryId, subcategoryId],
  ] as const
  // Only a single evidence can have files.
  const attached =
    staged.length === 0
      ? []
      : drafts.map(({ id }) =>
          attachFiles(staged, { company: companyId, ownerKind: 'evidence', ownerId: id, version: 1 }),
        )
  return {
    checks: [
      ...drafts.map(({ input }) => ({ key: keys.externalId(input.externalId, companyId), version: null })),
      ...ref.checks,
      ...attached.flatMap(({ checks }) => checks),
    ],
    writes: [...ref.writes, ...writes, ...attached.flatMap((part) => part.writes)],
    adds: [...ref.adds, ...counters.map((list) => ({ key: keys.evidenceCount(list), delta: drafts.length }))],
    append,
  }
}

/** What the caller learns of an evidence. Throws `ENGINE_FAILED` if the engine has not made it. */
export function createdEvidence(draft: EvidenceDraft | undefined, append: LogAppend | undefined) {
  if (draft === undefined || append === undefined)
    throw new RegistryError('ENGINE_FAILED', 'The event engine has made too few evidences')
  return { id: draft.id, type: 'create', txId: toHex(append.entry) as TxId, version: 1 } as const
}

/**
 * Throws the `VALIDATION_ERROR` that `evidences.create` throws for this input, whatever the registry contains. For
 * programs that check inputs before they send them, or before `createMany`, which refuses all of them for one.
 *
 * @example
 * assertNewEvidence({ externalId: 'VIN-1', name: 'Golf', category: { name: 'Vehicles' }, subcategory: { name: '' } })
 * // throws VALIDATION_ERROR: subcategory.name must be …
 */
export function assertNewEvidence(input: unknown): asserts input is NewEvidence {
  const { meta, category, subcategory } = validate(newEvidenceSchema, input)
  if (meta !== undefined) metaText(meta)
  assertSelected('category', category)
  assertSelected('subcategory', subcategory)
}

function assertSelected(field: string, { id, name }: CategorySelector): void {
  if (id === undefined && name === undefined) throw invalidInput(field, 'is required: give its id or its name')
}
