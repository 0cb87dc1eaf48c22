import { toHex, fromHex } from '../../bytes.ts'
import type { EventMerkleProof, ProofItem, AssuranceNote } from '../../schemas/proof-documents.ts'
import type { EntryStatus, LogReader } from '../../log/reader.ts'
import { leafHash } from '../../log/tree/hasher.ts'
import { sidesOf } from '../../log/tree/proof.ts'
import { rootOf, type BatchAttestations, type StampProof } from './batch-attestations.ts'
import type { EventRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { logStatusesOf, entryOfTxId } from '../event/event.ts'
import { hexInput } from '../../schemas/validation.ts'

/** What entries are proven with. */
export interface ProofSources {
  readonly log: LogReader
  readonly attestations: BatchAttestations
}

/**
 * Proves an entry. `undefined` while it is not in a batch, or its batch has no signed checkpoint yet. Throws `CORRUPT`
 * if tiles are damaged.
 */
export async function proveEntry(
  { log, attestations }: ProofSources,
  entry: Uint8Array,
  { position, batch, sendStatus }: EntryStatus,
): Promise<LogProof | undefined> {
  if (batch === null || sendStatus === null) return undefined
  const claim = { leafHash: leafHash(entry), leafIndex: position, treeSize: batch.end, root: rootOf(batch) }
  const [attestation, proof] = await Promise.all([attestations.of(batch), log.proveInclusion(claim)])
  if (attestation === undefined) return undefined
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

/** The proof that an entry is in the log, with the stamp and the anchor that cover it. */
export interface LogProof {
  readonly merkle: EventMerkleProof
  readonly stamp: StampProof | undefined
  readonly blockNumber: number | undefined
  readonly assurance: Omit<AssuranceNote, 'note'>
}

/** The members of a proof document for its event in the log. */
export const logProofMembers = ({ merkle, stamp }: LogProof) => ({ merkle, ...stamp })

export const blockMember = (blockNumber: number | undefined) => (blockNumber === undefined ? {} : { blockNumber })

const NOTES = {
  none: 'Time and existence are not yet confirmed by anyone outside this registry',
  operator:
    "The time stamp or the ledger is the operator's own, for a single machine and for trying out: " +
    'no independent party confirms it',
  independent: 'Confirmed by an authority or a chain that is independent of the operator',
} as const

/** Proven is only "not later than genTime or blockTime", and only as far as their source is trusted. */
export function assuranceOf(proof: LogProof | undefined): AssuranceNote {
  const { time, anchor } = proof?.assurance ?? ({ time: 'none', anchor: 'none' } as const)
  const best = (['independent', 'operator'] as const).find((level) => level === time || level === anchor) ?? 'none'
  return { time, anchor, note: NOTES[best] }
}

/** The 32 bytes of a txId, `undefined` for any text that cannot be one. */
export function entryOf(txId: string): Uint8Array | undefined {
  const hex = hexInput(txId)
  return hex.length === 64 ? fromHex(hex) : undefined
}

/** The proof of a stored event, `undefined` until it is sealed. */
export async function proveEvent(context: Context, { txId }: Pick<EventRecord, 'txId'>): Promise<LogProof | undefined> {
  const [status] = await logStatusesOf(context.log, [txId])
  return status && proveEntry(context, entryOfTxId(txId), status)
}
