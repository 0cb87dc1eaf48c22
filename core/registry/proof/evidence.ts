import type { EvidenceProof } from '../../schemas/proof-documents.ts'
import { toHex } from '../../bytes.ts'
import { firstEventOf } from '../../store/evidence.ts'
import type { EvidenceRecord } from '../../store/records.ts'
import { checkedOpeningOf } from '../event/event.ts'
import { assuranceOf, blockMember, logProofMembers, type ProofContext, proveEvent, rfc3339 } from './log-proof.ts'
import type { EvidenceProofJson, Proofs } from '../../api/proofs.ts'
import { findEvidence, FoundEvidence } from './find-evidence.ts'
import type { BatchRecord } from '../../log/records.ts'
import type { Key, Version } from '../../ports/index.ts'
import { SecondUseMap } from '../../store/cache.ts'

/** Proves an evidence. The proof has no name, owner, text, meta, company or category, because it is for anyone. */
export const proveEvidence =
  (context: ProofContext): Proofs['evidence'] =>
  async (selector) => {
    const found = await findEvidence(context, selector)
    if (!(found instanceof FoundEvidence)) return { ...found, evidenceId: selector.evidenceId }
    return proveRecord(context, found.record)
  }

/** The proof of an evidence with this record. */
async function proveRecord(
  context: ProofContext,
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

/** Of all kept proofs together. */
const MAX_KEPT_CHARS = 32 * 1024 * 1024

interface KeptProof {
  /** The version of the evidence's record. */
  readonly version: Version
  readonly batch: BatchRecord
  readonly tsas: object
  readonly json: string
}

/**
 * As `proveEvidence`, as JSON. Keeps final proofs, from the second time on that they are read. One is correct as long
 * as the evidence's record and the attestations of its batch are those that it was made of.
 */
export const evidenceJson = (context: ProofContext): Proofs['evidenceJson'] => {
  const keptProofs = new SecondUseMap<Key, KeptProof>(MAX_KEPT_CHARS, ({ json }) => json.length)
  return async (selector) => {
    const found = await findEvidence(context, selector)
    if (!(found instanceof FoundEvidence)) return jsonOf({ ...found, evidenceId: selector.evidenceId })
    const { key, version } = found.entry
    const kept = keptProofs.get(key)
    if (kept?.version === version && (await isCurrent(context, kept))) return { status: 'ok', json: kept.json }
    const proof = await proveRecord(context, found.record)
    const { status, json } = jsonOf(proof)
    const batch = isFinal(proof) ? await context.log.batchOf(proof.merkle.leafIndex) : undefined
    if (isFinal(proof) && batch !== undefined) keptProofs.set(key, () => ({ version, batch, tsas: proof.tsas, json }))
    return { status, json }
  }
}

/** Whether the batch is still confirmed, and has the same attestations: their tokens are then the same object. */
async function isCurrent({ attestations, log }: ProofContext, { batch, tsas }: KeptProof): Promise<boolean> {
  const [attestation, sendStatus] = await Promise.all([attestations.of(batch), log.sendStatusOf(batch)])
  return sendStatus === 'C' && attestation?.stamp?.tsas === tsas
}

const jsonOf = (proof: EvidenceProof): EvidenceProofJson => ({ status: proof.status, json: JSON.stringify(proof) })

/** A proof that can only change if its stamp or its anchor does: it is confirmed and stamped. */
type FinalProof = Extract<EvidenceProof, { status: 'ok' }> & { readonly tsas: object }

const isFinal = (proof: EvidenceProof): proof is FinalProof =>
  proof.status === 'ok' &&
  proof.merkle.sendStatus === 'C' &&
  proof.merkle.anchor !== undefined &&
  proof.blockNumber !== undefined &&
  proof.tsas !== undefined
