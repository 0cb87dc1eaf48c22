import type { FileDeletion, FileProof } from '../../schemas/proof-documents.ts'
import { corrupt } from '../../errors.ts'
import { isId } from '../../ids.ts'
import { keys } from '../../store/keys.ts'
import { assertNeverStored, danglingReference, readRecord } from '../../store/read.ts'
import type { DeletedFileRecord, EvidenceRecord, FileRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { discloseEvent } from '../event/opening.ts'
import { readEvent } from '../../store/evidence.ts'
import type { Proofs } from '../../api/proofs.ts'
import {
  assuranceOf,
  blockMember,
  type LogProof,
  logProofMembers,
  type ProofContext,
  proveEvent,
  rfc3339,
} from './log-proof.ts'
import { uuidInput } from '../../schemas/validation.ts'
import { findEvidence, FoundEvidence, invalid } from './find-evidence.ts'

/** Proves a file of an evidence. The proof has nothing of the file but its id, because it is for anyone. */
export const proveFile =
  (context: ProofContext): Proofs['file'] =>
  async ({ fileId: text, ...selector }) => {
    const { evidenceId } = selector
    const fileId = uuidInput(text)
    if (!isId(fileId)) return { ...invalid('fileId must be the id of a file: a UUID'), evidenceId, fileId }
    const found = await findEvidence(context, selector)
    if (!(found instanceof FoundEvidence)) return { ...found, evidenceId, fileId }
    const file = await readFileOf(context, found.record, fileId)
    if (file === undefined)
      return {
        status: 'not_found',
        evidenceId: found.record.externalId,
        fileId,
        error: 'This evidence has no such file',
        code: 'FILE_NOT_FOUND',
      }
    const members = await attachmentMembers(context, found.record, file)
    // Of an erased file, the proof of its attachment is left.
    const version = 'deletion' in file ? file.deletion.version : undefined
    const deletion = version === undefined ? undefined : await proveDeletion(context, found.record, file.id, version)
    return statusOf(members, deletion)
  }

/** The record of a file of this evidence, also of a deleted one. Throws `CORRUPT` if the store has lost it. */
export async function readFileOf(
  { records }: Context,
  { id, company, first }: EvidenceRecord,
  fileId: string,
): Promise<FileRecord | DeletedFileRecord | undefined> {
  const key = keys.file(fileId)
  const file = await readRecord(records, key)
  if (file === undefined) {
    if (Object.hasOwn(first.files ?? {}, fileId)) throw danglingReference(`Evidence ${id}`, key)
    const beside = [keys.fileOf(company, id, fileId)]
    await assertNeverStored(records, key, { beside, family: keys.files() })
  }
  return file?.record.ownerKind === 'evidence' && file.record.ownerId === id ? file.record : undefined
}

type Attachment = Awaited<ReturnType<typeof attachmentMembers>>

/** The event that attached the file: its members before, and after, its place in the log. */
async function attachmentMembers(
  context: ProofContext,
  evidence: EvidenceRecord,
  file: FileRecord | DeletedFileRecord,
) {
  const event = await readEvent(context.records, evidence, file.version)
  const { origin } = context
  const { opening, filesText, filesSalt } = discloseEvent(event, { origin, slotKey: evidence.slotKey })
  return {
    head: { fileId: file.id, evidenceId: evidence.externalId, txId: event.txId },
    eventTimestamp: rfc3339(event.time),
    proof: await proveEvent(context, event),
    tail: { opening, filesText, filesSalt },
  }
}

function statusOf({ head, eventTimestamp, proof, tail }: Attachment, deletion: FileDeletion | undefined): FileProof {
  const assurance = assuranceOf(proof)
  if (deletion !== undefined)
    return { status: 'deleted', ...head, ...sealedMembers(eventTimestamp, proof), ...tail, deletion, assurance }
  if (proof === undefined) return { status: 'pending', ...head, eventTimestamp, ...tail, assurance }
  return {
    status: 'ok',
    ...head,
    ...blockMember(proof.attestation.blockNumber),
    eventTimestamp,
    ...logProofMembers(proof),
    ...tail,
    assurance,
  }
}

const sealedMembers = (eventTimestamp: string, proof: LogProof | undefined) => ({
  ...blockMember(proof?.attestation.blockNumber),
  eventTimestamp,
  ...(proof && logProofMembers(proof)),
})

/** Shows that the event deletes this file: its files map, and in it the entry of the file, which holds only ids. */
async function proveDeletion(
  context: ProofContext,
  evidence: EvidenceRecord,
  fileId: string,
  version: number,
): Promise<FileDeletion> {
  const { id, slotKey } = evidence
  const event = await readEvent(context.records, evidence, version)
  const proof = await proveEvent(context, event)
  const { eventTimestamp, ...sealed } = sealedMembers(rfc3339(event.time), proof)
  const { opening, filesText, filesSalt, files } = discloseEvent(event, { origin: context.origin, slotKey })
  const entry = files[fileId]
  if (entry === undefined)
    throw corrupt(`Version ${event.version} of evidence ${id} does not delete the file ${fileId}`)
  return { txId: event.txId, eventTimestamp, ...sealed, opening, filesText, filesSalt, file: entry }
}
