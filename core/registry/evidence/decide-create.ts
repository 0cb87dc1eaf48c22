import type { CreatedEvidence, EvidenceInput } from '../../api/evidences.ts'
import type { StagedFile } from '../../api/files.ts'
import type { EvidenceId } from '../../api/ids.ts'
import { toHex } from '../../bytes.ts'
import { timeOfId } from '../../ids.ts'
import type { Commit, Write } from '../../ports/index.ts'
import { randomBytes } from '../../random.ts'
import { consume } from '../../store/blob-lifecycle.ts'
import { keys } from '../../store/keys.ts'
import { putRecord } from '../../store/record-codec.ts'
import type { NameRecord } from '../../store/records.ts'
import type { CategoryRef } from '../category/category-cache.ts'
import type { Context } from '../context.ts'
import { appendEvents, attachedFiles, type AppendedEvents, type EvidenceState } from '../event/append.ts'
import { attachFiles } from '../file/stored-file.ts'
import type { AuthorizedScope } from '../permissions.ts'
import { givenDetails } from './stored-evidence.ts'

/** The files of a new evidence. The image counts as a file, and is the first one. */
export interface EvidenceFiles {
  readonly image: StagedFile | undefined
  readonly files: readonly StagedFile[]
}

/** Where new evidences go, and the files that they take with them. */
interface CreateTarget {
  readonly ref: CategoryRef
  readonly files: EvidenceFiles
}

interface CreateSource {
  readonly context: Pick<Context, 'ids' | 'origin'>
  readonly scope: AuthorizedScope
}

/** A new evidence: what the caller learns of it, and what its commit contains. */
interface CreateDecision {
  readonly created: CreatedEvidence
  readonly appended: AppendedEvents
}

const SLOT_KEY_BYTES = 32

/** A new evidence with its `create` event. */
export function decideEvidence(
  { context, scope }: CreateSource,
  { ref, files }: CreateTarget,
  input: EvidenceInput,
): CreateDecision {
  const id = context.ids.next<EvidenceId>()
  // The same as in the id, so that a range of ids is a range of creation times. It is `now`, or later if the clock was
  // set back since the last id was made.
  const createdAt = timeOfId(id)
  const staged = stagedFiles(files)
  const slotKey = toHex(randomBytes(SLOT_KEY_BYTES))
  const details = givenDetails(input)
  const common = {
    externalId: input.externalId,
    categoryId: ref.category.id,
    subcategoryId: ref.subcategory.id,
    name: input.name,
    slotKey,
    ...details,
  }
  const { image } = files
  const state: EvidenceState = {
    id,
    company: scope.companyId,
    ...common,
    createdAt,
    stolen: false,
    ...(image !== undefined && { image: { id: image.id, mimeType: image.mimeType } }),
    fileCount: staged.length,
  }
  const fields = { ...common, ...(image !== undefined && { imageId: image.id }) }
  const author = { origin: context.origin, actor: scope.actor, now: createdAt }
  const step = { type: 'create', fields, files: attachedFiles(staged), state } as const
  const appended = appendEvents(author, undefined, [step])
  const { txId, lastVersion } = appended.evidence
  return { created: { id, txId, version: lastVersion }, appended }
}

const stagedFiles = ({ image, files }: EvidenceFiles): readonly StagedFile[] =>
  image === undefined ? files : [image, ...files]

/**
 * One commit for all evidences. It holds while the external ids are free, and the categories and staged files as they
 * were.
 */
export function decideCreate(
  { companyId }: AuthorizedScope,
  { ref, files }: CreateTarget,
  decisions: readonly CreateDecision[],
): Commit {
  const staged = stagedFiles(files)
  const used = consume(staged)
  const counters = [
    ['company', companyId],
    ['category', ref.category.id],
    ['subcategory', ref.subcategory.id],
  ] as const
  const names = decisions.map(({ appended: { evidence } }) =>
    putRecord(keys.externalId(evidence.externalId, companyId), { id: evidence.id } satisfies NameRecord),
  )
  const attached = (id: EvidenceId): readonly Write[] =>
    attachFiles(staged, { company: companyId, ownerKind: 'evidence', ownerId: id, version: 1 })
  return {
    checks: [...names.map(({ key }) => ({ key, version: null })), ...ref.checks, ...used.checks],
    writes: [
      ...ref.writes,
      ...names,
      ...decisions.flatMap(({ created, appended }) => [...appended.writes, ...attached(created.id)]),
      ...used.writes,
    ],
    adds: [
      ...ref.adds,
      ...counters.map(([kind, scopeId]) => ({ key: keys.evidenceCount(kind, scopeId), delta: decisions.length })),
    ],
    append: decisions.flatMap(({ appended }) => appended.append),
  }
}
