import { type CategorySelector, type EvidenceInput, NewEvidences, NewEvidence } from '../../schemas/evidence-inputs.ts'
import type { Evidences } from '../../api/evidences.ts'
import type { CompanyId } from '../../api/scope.ts'
import { RegistryError } from '../../errors.ts'
import { dayOfId } from '../../ids.ts'
import type { Add, Check, Commit, Key, Write } from '../../ports/index.ts'
import { invalidInput, metaText, validate } from '../../schemas/validation.ts'
import { keys } from '../../store/keys.ts'
import { type CategoryResolver, isGiven, type ResolvedCategory } from '../category/resolve.ts'
import type { Context } from '../context.ts'
import { filesMember } from '../event/append.ts'
import { givenFiles } from '../file/given-files.ts'
import { attachFiles } from '../file/stored-file.ts'
import { type AuthorizedScope, enterCompany } from '../permissions.ts'
import type { Attempt } from '../write.ts'
import { type CreateTarget, type EvidenceDraft, type EvidenceFiles, type MadeEvidence, makeEvidence } from './make.ts'

/**
 * Creates an evidence, and its category if a name is new. The first attempt relies on cached categories and on the
 * external id being free: its commit checks both.
 */
export const createEvidence =
  (context: Context, categories: CategoryResolver): Evidences['create'] =>
  async (scope, input, options = {}) => {
    const entered = await enterCompany(context, scope, 'I')
    assertNewEvidence(input)
    const { image, files } = input
    return context.write({ scope: entered, options, operation: 'createEvidence', input }, async (attempt) => {
      const resolved = await categories.byNames(entered.companyId, input, attempt)
      if (attempt.conflicts.length > 0) await assertUnused(context, entered, [input])
      const target = targetOf(context, entered, { resolved, files: givenFiles({ image, files }) })
      const made = makeEvidence(target, draftOf(context, input))
      return { commit: decideCreate(resolved, target, [made], attempt), result: createdEvidence(target)(made) }
    })
  }

/**
 * Creates 1 to 1,000 evidences in one commit, so that all of them exist or none. It holds while the categories are as
 * they were.
 */
export const createEvidences =
  (context: Context, categories: CategoryResolver): Evidences['createMany'] =>
  async (scope, input, options = {}) => {
    const entered = await enterCompany(context, scope, 'I')
    validate(NewEvidences, input)
    const { categoryId, subcategoryId, evidences } = input
    const files = givenFiles(input)
    assertBulk(evidences, files)
    const ids = [categoryId, subcategoryId]
    return context.write({ scope: entered, options, operation: 'createEvidences', ids, input }, async (attempt) => {
      const resolved = await categories.byId(entered.companyId, { categoryId, subcategoryId }, attempt)
      if (attempt.conflicts.length > 0) await assertUnused(context, entered, evidences)
      const target = targetOf(context, entered, { resolved, files })
      const made = evidences.map((evidence, i) => makeEvidence(target, draftOf(context, evidence, i)))
      return { commit: decideCreate(resolved, target, made, attempt), result: made.map(createdEvidence(target)) }
    })
  }

const draftOf = ({ ids }: Context, input: EvidenceInput, index = 0): EvidenceDraft => ({ id: ids.next(), input, index })

const targetOf = (
  { origin, hash }: Context,
  { companyId, actor }: AuthorizedScope,
  { resolved, files }: { readonly resolved: ResolvedCategory; readonly files: EvidenceFiles },
): CreateTarget => ({
  origin,
  hash,
  actor,
  companyId,
  categoryId: resolved.category.id,
  subcategoryId: resolved.subcategory.id,
  files,
})

function assertBulk(evidences: readonly EvidenceInput[], { files }: EvidenceFiles): void {
  if (evidences.length > 1 && files.length > 0)
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
async function assertUnused(
  { records }: Context,
  { companyId }: AuthorizedScope,
  evidences: readonly EvidenceInput[],
): Promise<void> {
  const entries = await records.get(evidences.map(({ externalId }) => keys.externalId(companyId, externalId)))
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
function decideCreate(
  resolved: ResolvedCategory,
  { companyId, subcategoryId, files: { files } }: CreateTarget,
  made: readonly MadeEvidence[],
  attempt: Attempt,
): Commit {
  const checks: Check[] = []
  const writes: Write[] = [...resolved.writes]
  const adds: Add[] = [...resolved.adds, ...createdPerDay(companyId, made)]
  for (const list of [['company', companyId] as const, ['sub', companyId, subcategoryId] as const])
    adds.push({ key: keys.evidenceCount(list), delta: made.length })
  for (const { draft, writes: own } of made) {
    checks.push({ key: keys.externalId(companyId, draft.input.externalId), version: null })
    for (const write of own) writes.push(write)
    // Only a single evidence can have files.
    if (files.length === 0) continue
    const owner = { company: companyId, ownerKind: 'evidence', ownerId: draft.id, version: 1 } as const
    const attached = attachFiles(files, owner, attempt)
    checks.push(...attached.checks)
    writes.push(...attached.writes)
    adds.push(...attached.adds)
  }
  checks.push(...resolved.checks)
  return { checks, writes, adds, append: made.map(({ append }) => append) }
}

/** Nearly always one day: ids ascend, so the evidences of a day lie side by side. */
function createdPerDay(company: CompanyId, made: readonly MadeEvidence[]): readonly Add[] {
  const adds: { key: Key; delta: number }[] = []
  for (const { draft } of made) {
    const key = keys.evidenceCount(['day', company, dayOfId(draft.id)])
    const last = adds.at(-1)
    if (last?.key === key) last.delta += 1
    else adds.push({ key, delta: 1 })
  }
  return adds
}

/** What the caller learns of an evidence. */
const createdEvidence =
  ({ files: { files } }: CreateTarget) =>
  ({ draft, txId }: MadeEvidence) =>
    ({ id: draft.id, type: 'create', txId, version: 1, ...filesMember(files) }) as const

/**
 * Throws the `VALIDATION_ERROR` that `evidences.create` throws for this input, whatever the registry contains. For
 * programs that check inputs before they send them, or before `createMany`, which refuses all of them for one.
 *
 * @example
 * assertNewEvidence({ externalId: 'VIN-1', name: 'Golf', category: { name: 'Vehicles' }, subcategory: { name: '' } })
 * // throws VALIDATION_ERROR: subcategory.name must be …
 */
export function assertNewEvidence(input: unknown): asserts input is NewEvidence {
  const { meta, category, subcategory } = validate(NewEvidence, input)
  if (meta !== undefined) metaText(meta)
  if (subcategory.id === undefined) assertSelected('category', category)
  assertSelected('subcategory', subcategory)
}

function assertSelected(field: string, selector: CategorySelector): void {
  if (!isGiven(selector)) throw invalidInput(field, 'is required: give its id or its name')
}
