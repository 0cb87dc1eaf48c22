import type { EvidenceProof } from '../../schemas/proof-documents.ts'
import { toHex } from '../../bytes.ts'
import { firstEventOf } from '../../store/evidence.ts'
import { checkedOpeningOf } from '../event/opening.ts'
import {
  assuranceOf,
  type BatchAttestation,
  blockMember,
  logProofMembers,
  type ProofContext,
  proveEvent,
  rfc3339,
} from './log-proof.ts'
import type { Proofs } from '../../api/proofs.ts'
import { findEvidence, FoundEvidence } from './find-evidence.ts'
import type { Version } from '../../ports/index.ts'
import type { Cacheable } from '../../api/scope.ts'
import { hasState, withState } from '../cacheable.ts'

/** Proves an evidence. The proof has no name, owner, text, meta, company or category, because it is for anyone. */
export const proveEvidenceIfChanged =
  (context: ProofContext): Proofs['evidenceIfChanged'] =>
  async (selector, cached) => {
    const found = await findEvidence(context, selector)
    if (!(found instanceof FoundEvidence)) return { ...found, evidenceId: selector.evidenceId }
    if (hasState<ProofState>(cached, 'attestation') && cached.state.version === found.entry.version)
      if ((await context.attestations.of(cached.state.attestation.batch)) === cached.state.attestation) return cached
    return proveRecord(context, found)
  }

/** A proof follows from the record of its evidence, and the attestation of its batch: one object until that changes. */
interface ProofState {
  readonly version: Version
  readonly attestation: BatchAttestation
}

/** The proof of an evidence that was found. */
async function proveRecord(
  context: ProofContext,
  { record, entry: { version } }: FoundEvidence,
): Promise<EvidenceProof & Cacheable> {
  const { externalId: evidenceId, txId, position, createdAt, fileCount, slotKey } = record
  const opening = checkedOpeningOf(firstEventOf(record), { origin: context.origin, slotKey })
  const proof = await proveEvent(context, { txId, position })
  const proven = { opening: toHex(opening), assurance: assuranceOf(proof) }
  if (proof === undefined)
    return { status: 'pending', evidenceId, txId, createdAt: rfc3339(createdAt), fileCount, ...proven }
  const { attestation } = proof
  const document = {
    status: 'ok' as const,
    evidenceId,
    txId,
    ...blockMember(attestation.blockNumber),
    createdAt: rfc3339(createdAt),
    fileCount,
    ...logProofMembers(proof),
    ...proven,
  }
  return withState<EvidenceProof>(document, { version, attestation })
}
