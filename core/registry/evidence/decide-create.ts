import type { TxId } from '../../api/ids.ts'
import { toHex } from '../../bytes.ts'
import { RegistryError } from '../../errors.ts'
import type { Commit, LogAppend } from '../../ports/index.ts'
import { keys } from '../../store/keys.ts'
import type { CategoryRef } from '../category/cache.ts'
import { attachFiles } from '../file/stored-file.ts'
import { stagedFiles, type MakeRequest, type EvidenceDraft, type MadeEvidences } from './make.ts'

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
