import type { EvidenceProof } from '../../schemas/proof-documents.ts'
import { toHex } from '../../bytes.ts'
import { firstEventOf } from '../../store/evidence.ts'
import type { EvidenceRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { checkedOpeningOf } from '../event/event.ts'
import { proveEvent, assuranceOf, blockMember, logProofMembers } from './log-proof.ts'
import { rfc3339 } from './batch-attestations.ts'
import type { EvidenceSelector } from '../../api/proofs.ts'
import { findEvidence, FoundEvidence } from './find-evidence.ts'

/** Contains no name, owner, text, meta, company or category, because the proof is for anyone. */
export async function proveEvidence(context: Context, selector: EvidenceSelector): Promise<EvidenceProof> {
  const found = await findEvidence(context, selector)
  if (!(found instanceof FoundEvidence)) return { ...found, evidenceId: selector.evidenceId }
  return proveRecord(context, found.record)
}

/** The proof of an evidence with this record. */
export async function proveRecord(
  context: Context,
  record: EvidenceRecord,
): Promise<Extract<EvidenceProof, { status: 'ok' | 'pending' }>> {
  const { externalId: evidenceId, txId, createdAt, fileCount, slotKey } = record
  const opening = checkedOpeningOf(firstEventOf(record), { origin: context.origin, slotKey })
  const proof = await proveEvent(context, { txId })
  const proven = { opening: toHex(opening), assurance: assuranceOf(proof) }
  if (proof === undefined)
    return { status: 'pending', evidenceId, txId, createdAt: rfc3339(createdAt), fileCount, ...proven }
  return {
    status: 'ok',
    evidenceId,
    txId,
    ...blockMember(proof.blockNumber),
    createdAt: rfc3339(createdAt),
    fileCount,
    ...logProofMembers(proof),
    ...proven,
  }
}
