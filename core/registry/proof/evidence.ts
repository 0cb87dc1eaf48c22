import type { EvidenceProof } from '../../api/proof-documents.ts'
import { toHex } from '../../bytes.ts'
import { RegistryError } from '../../errors.ts'
import type { TxId } from '../../api/ids.ts'
import type { Context } from '../context.ts'
import { entryOf, proveEvent } from './events.ts'
import type { EvidenceSelector } from '../../api/proofs.ts'
import { findEvidence } from './find-evidence.ts'
import { assuranceOf, blockMember, logProofMembers, rfc3339 } from './log-proof.ts'

/** Contains no name, owner, text, meta, company or category, because the proof is for anyone. */
export async function proveEvidence(context: Context, selector: EvidenceSelector): Promise<EvidenceProof> {
  const found = await findEvidence(context, selector)
  if (!('record' in found)) return { ...found, evidenceId: selector.evidenceId }
  const { externalId: evidenceId, txId, createdAt, fileCount } = found.record
  const [opening, proof] = await Promise.all([readOpening(context, txId), proveEvent(context, { txId })])
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

async function readOpening({ log }: Context, txId: TxId): Promise<Uint8Array> {
  const entry = entryOf(txId)
  const payload = entry && (await log.payloadOf(entry))
  if (payload === undefined)
    throw new RegistryError('CORRUPT', `The log entry of txId ${txId} is missing: restore the store from a backup`)
  return payload.opening
}
