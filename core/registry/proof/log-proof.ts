import { fromBase64, fromHex, toBase64, toHex } from '../../bytes.ts'
import { RegistryError } from '../../errors.ts'
import type { EntryStatus, LogReader } from '../../log/reader.ts'
import type { AnchorRecord, BatchRecord, StampRecord, StampToken } from '../../log/records.ts'
import { claimOf, type StampClaim } from '../../log/stamp-claim.ts'
import type { AnchorProof, AssuranceNote, EventMerkleProof, ProofItem, TsaProof } from '../../api/proof-documents.ts'
import { leafHash } from '../../log/tree/hasher.ts'
import { sidesOf, verifyConsistency, verifyInclusion } from '../../log/tree/proof.ts'

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

export const rfc3339 = (ms: number): string => new Date(ms).toISOString()

/**
 * Proves an entry. `undefined` while it is not in a batch, or its batch has no signed checkpoint yet. Verifies each
 * path before it returns it, so that damaged tiles never become a wrong proof: then it throws `CORRUPT`.
 */
export async function proveEntry(
  log: LogReader,
  entry: Uint8Array,
  { position, batch, sendStatus }: EntryStatus,
): Promise<LogProof | undefined> {
  if (batch === null || sendStatus === null) return undefined
  const [checkpoint, proof, anchor, stamp] = await Promise.all([
    log.checkpoint(batch.end),
    log.inclusionProof(position, batch.end),
    log.anchorCovering(batch.end),
    log.stampCovering(batch.end),
  ])
  if (checkpoint === undefined) return undefined
  const claim = { leafHash: leafHash(entry), leafIndex: position, treeSize: batch.end, proof }
  if (!verifyInclusion({ ...claim, root: rootOf(batch) }))
    throw corrupt(`The path of entry ${position} does not lead to the root of batch ${batch.id}`)
  const sides = sidesOf(position, batch.end)
  const merkle: EventMerkleProof = {
    batchId: batch.id,
    merkleRoot: batch.root,
    leafIndex: position,
    treeSize: batch.end,
    sendStatus,
    proof: proof.map((hash, i): ProofItem => ({ hash: toHex(hash), position: sides[i] ?? 'right' })),
    checkpoint: checkpoint.note,
    ...(anchor?.confirmation && { anchor: await anchorProof(log, batch, anchor, anchor.confirmation) }),
  }
  const stamped = stamp && claimOf(stamp)
  return {
    merkle,
    stamp: stamp && stamped && (await stampProof(log, batch, stamp, stamped)),
    blockNumber: anchor?.confirmation?.blockNumber,
    assurance: { time: stamped?.assurance ?? 'none', anchor: anchor?.info.assurance ?? 'none' },
  }
}

/** The root of a batch or of an anchored tree. */
const rootOf = ({ root }: { readonly root: string }): Uint8Array => fromHex(root) ?? new Uint8Array()

const corrupt = (what: string): RegistryError =>
  new RegistryError('CORRUPT', `${what}: run fsck, and restore the record store from a backup`)

/** The path from the tree of a batch to a later one, verified. */
async function consistencyOf(
  log: LogReader,
  batch: BatchRecord,
  later: { readonly size: number; readonly root: Uint8Array },
): Promise<string[]> {
  const proof = await log.consistencyProof(batch.end, later.size)
  const trees = { fromSize: batch.end, fromRoot: rootOf(batch), toSize: later.size, toRoot: later.root }
  if (!verifyConsistency({ ...trees, proof }))
    throw corrupt(`The tree of ${later.size} entries does not continue that of batch ${batch.id}`)
  return proof.map(toHex)
}

async function anchorProof(
  log: LogReader,
  batch: BatchRecord,
  { size, root, checkpoint, info }: AnchorRecord,
  confirmation: NonNullable<AnchorRecord['confirmation']>,
): Promise<AnchorProof> {
  return {
    type: info.type,
    network: info.network,
    chainId: info.chainId,
    txHash: confirmation.ref,
    blockNumber: confirmation.blockNumber,
    blockHash: confirmation.blockHash,
    blockTime: rfc3339(confirmation.blockTime),
    confirmations: confirmation.confirmations,
    treeSize: size,
    merkleRoot: root,
    checkpoint,
    consistency: await consistencyOf(log, batch, { size, root: rootOf({ root }) }),
  }
}

interface StampProof {
  readonly tsa: TsaProof
  readonly tsas: TsaProof[]
}

async function stampProof(
  log: LogReader,
  batch: BatchRecord,
  { size, checkpoint, tokens }: StampRecord,
  claim: StampClaim,
): Promise<StampProof> {
  const [, , root = ''] = checkpoint.split('\n', 3)
  const consistency = await consistencyOf(log, batch, { size, root: fromBase64(root) ?? new Uint8Array() })
  const proofOf = (token: StampToken): TsaProof => ({
    authority: token.authority,
    genTime: rfc3339(token.genTime),
    serialNumber: token.serialNumber,
    policy: token.policy,
    hashAlgorithm: token.hashAlgorithm,
    imprint: token.imprint,
    token: token.token,
    treeSize: size,
    checkpoint,
    consistency,
  })
  const tsas = tokens.map(async (token) => {
    const evidence = (await log.validationData(token.evidence)).map(({ type, der }) => ({ type, data: toBase64(der) }))
    return { ...proofOf(token), ...(evidence.length > 0 && { evidence }) }
  })
  return { tsa: proofOf(claim.token), tsas: await Promise.all(tsas) }
}

const NOTES = {
  none: 'Time and existence are not yet confirmed by anyone outside this registry',
  operator:
    "The time stamp or the ledger is the operator's own, for a single machine and for trying out: no independent party confirms it",
  independent: 'Confirmed by an authority or a chain that is independent of the operator',
} as const

/** Proven is only "not later than genTime or blockTime", and only as far as their source is trusted. */
export function assuranceOf(proof: LogProof | undefined): AssuranceNote {
  const { time, anchor } = proof?.assurance ?? ({ time: 'none', anchor: 'none' } as const)
  const best = (['independent', 'operator'] as const).find((level) => level === time || level === anchor) ?? 'none'
  return { time, anchor, note: NOTES[best] }
}
