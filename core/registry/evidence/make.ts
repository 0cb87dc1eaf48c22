import type { EvidenceInput } from '../../api/evidences.ts'
import type { StagedFile } from '../../api/files.ts'
import type { CategoryId, CompanyId, EvidenceId } from '../../api/scope.ts'
import { toBase64 } from '../../bytes.ts'
import { timeOfId } from '../../ids.ts'
import type { LogAppend, Write } from '../../ports/index.ts'
import { randomBytes } from '../../platform/node.ts'
import { slotKeyField } from '../../store/evidence.ts'
import { attachedFiles, createEvent, type EvidenceState, givenDetails, newSeed } from '../event/event.ts'

/** The files of a new evidence. The image is one of them. */
export interface EvidenceFiles {
  readonly image?: StagedFile | undefined
  readonly files: readonly StagedFile[]
}

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

/** A new evidence, and what it adds to its commit. */
export interface MadeEvidence {
  readonly draft: EvidenceDraft
  /** Its record, which contains its `create` event, and its entries in indexes. */
  readonly writes: readonly Write[]
  /** The entry of its event. */
  readonly append: LogAppend
}

/** The random values of one evidence, base64. */
export interface EvidenceSecrets {
  readonly slotKey: string
  /** The seed of the salts of its event. */
  readonly seed: string
}

const SLOT_KEY_BYTES = 32

const newSecrets = (): EvidenceSecrets => ({ slotKey: toBase64(randomBytes(SLOT_KEY_BYTES)), seed: newSeed() })

/** Makes an evidence with its `create` event. Call it again for another attempt. */
export function makeEvidence(
  { origin, actor, companyId, categoryId, subcategoryId, files: { image, files } }: CreateTarget,
  draft: EvidenceDraft,
  { slotKey, seed }: EvidenceSecrets = newSecrets(),
): MadeEvidence {
  const { id, input } = draft
  // The same as in the id, so that a range of ids is a range of creation times. It is the time of the draft, or later
  // if the clock was set back since the last id was made.
  const createdAt = timeOfId(id)
  const { externalId, name } = input
  const common = Object.assign({ externalId, categoryId, subcategoryId, name }, givenDetails(input))
  const state: EvidenceState = {
    id,
    company: companyId,
    ...common,
    slotKey,
    createdAt,
    stolen: false,
    ...(image !== undefined && { image: { id: image.id, mimeType: image.mimeType, size: image.size } }),
    fileCount: files.length,
  }
  const fields = { ...common, slotKey: slotKeyField(slotKey), ...(image !== undefined && { imageId: image.id }) }
  const step = { type: 'create', fields, files: attachedFiles(files), state, seed } as const
  const { writes, append } = createEvent({ origin, actor, now: createdAt }, step)
  return { draft, writes, append }
}
