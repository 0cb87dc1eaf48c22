import type { CreatedEvidence, EvidenceInput, NewEvidence, NewEvidences } from '../../api/evidences.ts'
import type { EvidenceId } from '../../api/ids.ts'
import type { WriteOptions } from '../../api/writes.ts'
import { RegistryError } from '../../errors.ts'
import { keys } from '../../store/keys.ts'
import type { CategoryRef } from '../category/cache.ts'
import { categoryById, resolveCategory } from '../category/resolve.ts'
import type { Context } from '../context.ts'
import { idempotentCall } from '../idempotency.ts'
import type { AuthorizedScope } from '../permissions.ts'
import { invalidInput, metaText, validate } from '../../schemas/validation.ts'
import { write, type Attempt } from '../write.ts'
import { assertNewEvidence } from './check.ts'
import { createdEvidence, decideCreate } from './decide-create.ts'
import { newEvidencesSchema } from './input.ts'
import { makeEvidences, type MakeRequest, type EvidenceFiles } from './make.ts'

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
    if (meta !== undefined) metaText(meta, `evidences.${i}.meta`)
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
