import { toHex } from '../../bytes.ts'
import type { EventMerkleProof, ProofItem } from '../../schemas/proof-documents.ts'
import type { EntryStatus, LogReader } from '../../log/reader.ts'
import { leafHash } from '../../log/tree/hasher.ts'
import { sidesOf, verifyInclusion } from '../../log/tree/proof.ts'
import { corruptProof, rootOf, type BatchAttestations } from './batch-attestations.ts'
import type { LogProof } from './document.ts'

/** What entries are proven with. */
export interface ProofSources {
  readonly log: LogReader
  readonly attestations: BatchAttestations
}

/**
 * Proves an entry. `undefined` while it is not in a batch, or its batch has no signed checkpoint yet. Verifies each
 * path before it returns it, so that damaged tiles never become a wrong proof: then it throws `CORRUPT`.
 */
export async function proveEntry(
  { log, attestations }: ProofSources,
  entry: Uint8Array,
  { position, batch, sendStatus }: EntryStatus,
): Promise<LogProof | undefined> {
  if (batch === null || sendStatus === null) return undefined
  const [attestation, proof] = await Promise.all([attestations.of(batch), log.inclusionProof(position, batch.end)])
  if (attestation === undefined) return undefined
  const claim = { leafHash: leafHash(entry), leafIndex: position, treeSize: batch.end, proof }
  if (!verifyInclusion({ ...claim, root: rootOf(batch) }))
    throw corruptProof(`The path of entry ${position} does not lead to the root of batch ${batch.id}`)
  const sides = sidesOf(position, batch.end)
  const { checkpoint, anchor, stamp, blockNumber, assurance } = attestation
  const merkle: EventMerkleProof = {
    batchId: batch.id,
    merkleRoot: batch.root,
    leafIndex: position,
    treeSize: batch.end,
    sendStatus,
    proof: proof.map((hash, i): ProofItem => ({ hash: toHex(hash), position: sides[i] ?? 'right' })),
    checkpoint,
    ...(anchor && { anchor }),
  }
  return { merkle, stamp, blockNumber, assurance }
}
