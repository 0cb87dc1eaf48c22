import type { EvidenceInput } from '../../api/evidences.ts'
import type { StagedFile } from '../../api/files.ts'
import type { CategoryId, CompanyId, EvidenceId } from '../../api/scope.ts'
import { toHex } from '../../bytes.ts'
import { timeOfId } from '../../ids.ts'
import type { LogAppend, Write } from '../../ports/index.ts'
import { randomBytes } from '../../platform/node.ts'
import type { EvidenceRecord } from '../../store/records.ts'
import { appendEvents, attachedFiles, type EvidenceState } from '../event/append.ts'
import { newSeed } from '../event/event.ts'

/**
 * Makes new evidences without a clock or a store, from JSON. So a worker thread can make them as well, and it loads
 * only what this module imports.
 */

/** The files of a new evidence. The image counts as a file, and is the first one. */
export interface EvidenceFiles {
  readonly image?: StagedFile | undefined
  readonly files: readonly StagedFile[]
}

export const stagedFiles = ({ image, files }: EvidenceFiles): readonly StagedFile[] =>
  image === undefined ? files : [image, ...files]

/** What the new evidences of one commit have in common. */
export interface CreateTarget {
  /** The log's name. */
  readonly origin: string
  /** Source system, or `operator`. */
  readonly actor: string
  readonly companyId: CompanyId
  readonly categoryId: CategoryId
  readonly subcategoryId: CategoryId
  /** Of a single evidence. */
  readonly files: EvidenceFiles
}

/** A new evidence with the id that it gets, which is also its time of creation. */
export interface EvidenceDraft {
  readonly id: EvidenceId
  readonly input: EvidenceInput
}

/** The evidences to make for one commit. */
export interface MakeRequest {
  readonly target: CreateTarget
  readonly drafts: readonly EvidenceDraft[]
}

/** What new evidences add to their commit. */
export interface MadeEvidences {
  /** Records of evidences, which contain their `create` events, and their entries in indexes. */
  readonly writes: readonly Write[]
  /** For each evidence the entry of its event. */
  readonly append: readonly LogAppend[]
}

/** The random values of one evidence, hex. */
export interface EvidenceSecrets {
  readonly slotKey: string
  /** As of `makeEvent`. */
  readonly seed: string
}

const SLOT_KEY_BYTES = 32

const newSecrets = (): EvidenceSecrets => ({ slotKey: toHex(randomBytes(SLOT_KEY_BYTES)), seed: newSeed() })

/** Makes the evidences of one commit, each with its `create` event. Call it again for another attempt. */
export function makeEvidences(
  { target, drafts }: MakeRequest,
  secretsOf: (index: number) => EvidenceSecrets = newSecrets,
): MadeEvidences {
  const writes: Write[] = []
  const append: LogAppend[] = []
  for (const [i, draft] of drafts.entries()) {
    const made = makeEvidence(target, draft, secretsOf(i))
    writes.push(...made.writes)
    append.push(...made.append)
  }
  return { writes, append }
}

function makeEvidence(
  { origin, actor, companyId, categoryId, subcategoryId, files }: CreateTarget,
  { id, input }: EvidenceDraft,
  { slotKey, seed }: EvidenceSecrets,
) {
  // The same as in the id, so that a range of ids is a range of creation times. It is the time of the draft, or later
  // if the clock was set back since the last id was made.
  const createdAt = timeOfId(id)
  const staged = stagedFiles(files)
  const { externalId, name } = input
  const common = Object.assign({ externalId, categoryId, subcategoryId, name, slotKey }, givenDetails(input))
  const { image } = files
  const state: EvidenceState = {
    id,
    company: companyId,
    ...common,
    createdAt,
    stolen: false,
    ...(image !== undefined && { image: { id: image.id, mimeType: image.mimeType } }),
    fileCount: staged.length,
  }
  const fields = { ...common, ...(image !== undefined && { imageId: image.id }) }
  const step = { type: 'create', fields, files: attachedFiles(staged), state, seed } as const
  return appendEvents({ origin, actor, now: createdAt }, undefined, [step])
}

type Details = Pick<EvidenceRecord, 'description' | 'summary' | 'owner' | 'meta'>

/** The details that are set. An empty text means that there is none. */
export const givenDetails = ({
  description = '',
  summary = '',
  owner = '',
  meta,
}: { readonly [K in keyof Details]: Details[K] | undefined }): Details => ({
  ...(description !== '' && { description }),
  ...(summary !== '' && { summary }),
  ...(owner !== '' && { owner }),
  ...(meta !== undefined && { meta }),
})
