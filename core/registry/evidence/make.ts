import type { EvidenceInput } from '../../schemas/evidence-inputs.ts'
import type { StagedFile } from '../../schemas/file-inputs.ts'
import type { CategoryId, CompanyId, EvidenceId, TxId } from '../../api/scope.ts'
import { toBase64, toHex } from '../../bytes.ts'
import { valueText } from '../../commitment/event-format.ts'
import { timeOfId } from '../../ids.ts'
import type { LogAppend, Write } from '../../ports/index.ts'
import { type EvidenceTexts, joinedTexts } from '../../store/evidence-form.ts'
import { evidenceEntries, putUnplaced } from '../../store/evidence.ts'
import type { KeyedHash } from '../../store/keys.ts'
import type { EvidenceRecord } from '../../store/records.ts'
import { attachedFiles } from '../file/given-files.ts'
import { type EventSecrets, makeEvent, newSecret, txIdOfEntry } from '../event/make.ts'

/** The files of a new evidence. The image is one of them. */
export interface EvidenceFiles {
  readonly image?: StagedFile | undefined
  readonly files: readonly StagedFile[]
}

/** What the new evidences of one commit have in common. */
export interface CreateTarget {
  /** The log's name. */
  readonly origin: string
  /** For the index of owners. */
  readonly hash: KeyedHash
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
  /** Of its event among those that its commit appends. Default 0. */
  readonly index?: number
}

/** A new evidence, and what it adds to its commit. */
export interface MadeEvidence {
  readonly draft: EvidenceDraft
  readonly txId: TxId
  /** Its record, which contains its `create` event, and its entries in indexes. */
  readonly writes: readonly Write[]
  /** The entry of its event. */
  readonly append: LogAppend
}

type Details = { readonly [K in 'description' | 'summary' | 'owner' | 'meta']?: EvidenceRecord[K] }

/** The details that are set. An empty text means that there is none. */
export const givenDetails = ({ description, summary, owner, meta }: Details) => ({
  description: description || undefined,
  summary: summary || undefined,
  owner: owner || undefined,
  meta,
})

const CREATE = valueText({ type: 'create' })

/**
 * Makes an evidence with its `create` event. Each text is written once, for its hash and for the record. Call it again
 * for another attempt.
 */
export function makeEvidence(
  { origin, hash, actor, companyId: company, categoryId, subcategoryId, files: { image, files } }: CreateTarget,
  draft: EvidenceDraft,
  secrets: EventSecrets = { slotKey: newSecret(), seed: newSecret() },
): MadeEvidence {
  const { id, input, index = 0 } = draft
  // The same as in the id, so that a range of ids is a range of creation times. It is the time of the draft, or later
  // if the clock was set back since the last id was made.
  const createdAt = timeOfId(id)
  const { externalId, name } = input
  const { description, summary, owner, meta } = givenDetails(input)
  const attached = attachedFiles(files)
  const fields = {
    action: CREATE,
    actor: valueText(actor),
    categoryId: valueText(categoryId),
    company: valueText(company),
    description: description && valueText(description),
    evidence: valueText(id),
    externalId: valueText(externalId),
    imageId: image && valueText(image.id),
    meta: meta && valueText(meta),
    name: valueText(name),
    owner: owner && valueText(owner),
    slotKey: `"${toHex(secrets.slotKey)}"`,
    subcategoryId: valueText(subcategoryId),
    summary: summary && valueText(summary),
  }
  const head = { version: 1, time: createdAt, first: null, prev: null, type: 'create', files: attached } as const
  const append = makeEvent(Object.assign(head, { company, evidenceId: id, fields }), origin, secrets)
  const txId = txIdOfEntry(append.entry)
  const text = joinedTexts([
    fields.externalId,
    fields.categoryId,
    fields.subcategoryId,
    fields.name,
    `"${txId}"`,
    `"${toBase64(secrets.slotKey)}"`,
    `"${toBase64(secrets.seed)}"`,
    // The record has all fields of the event but the actor.
    `{"actor":${fields.actor}}`,
    fields.owner,
    fields.description,
    // As it was sent: its members are not sorted.
    meta && JSON.stringify(meta),
    fields.summary,
    image && JSON.stringify({ id: image.id, mimeType: image.mimeType, size: image.size }),
    files.length === 0 ? undefined : JSON.stringify(attached),
    String(files.length),
  ] satisfies EvidenceTexts)
  const indexed = {
    id,
    company,
    subcategoryId,
    externalId,
    name,
    owner,
    stolen: false,
    lastVersion: 1,
    lastAt: createdAt,
  }
  return { draft, txId, writes: [putUnplaced(indexed, text, index), ...evidenceEntries(indexed, hash)], append }
}
