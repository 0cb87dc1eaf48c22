import type {
  AnchorProof,
  AssuranceNote,
  EventMerkleProof,
  ProofItem,
  TsaProof,
} from '../../schemas/proof-documents.ts'
import { fromHex, toBase64, toHex } from '../../bytes.ts'
import { entryOfTxId, sendStatusOf, type EntryStatus, type LogReader, type SendStatus } from '../../log/reader.ts'
import type { AnchorRecord, BatchRecord, StampRecord, StampToken } from '../../log/records.ts'
import { claimOf, type StampClaim } from '../../log/attestation-rules.ts'
import { withSignatures } from '../../log/note.ts'
import { leafHash } from '../../log/tree/hash.ts'
import { sidesOf } from '../../log/tree/proof.ts'
import { hexInput } from '../../schemas/validation.ts'
import { BoundedMap } from '../../store/bounded-map.ts'
import { storedBase64, storedBytes } from '../../store/codec.ts'
import type { EventRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'

/** What proofs are made with. */
export interface ProofContext extends Context {
  readonly attestations: BatchAttestations
}

/**
 * Proves an entry. `undefined` while it is not in a batch, or its batch has no signed checkpoint yet. Throws `CORRUPT`
 * if tiles are damaged.
 */
export async function proveEntry(
  { log, attestations }: Pick<ProofContext, 'log' | 'attestations'>,
  entry: Uint8Array,
  { position, batch }: EntryStatus,
): Promise<LogProof | undefined> {
  if (batch === null) return undefined
  const claim = { leafHash: leafHash(entry), leafIndex: position, treeSize: batch.end, root: rootOf(batch) }
  const [attestation, proof] = await Promise.all([attestations.of(batch), log.tree.proveInclusion(claim)])
  if (attestation === undefined) return undefined
  const sides = sidesOf(position, batch.end)
  const { checkpoint, anchor, sendStatus } = attestation
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
  return { merkle, attestation }
}

/** The proof that an entry is in the log, with the stamp and the anchor that cover it. */
export interface LogProof {
  readonly merkle: EventMerkleProof
  readonly attestation: BatchAttestation
}

/** The members of a proof document for its event in the log. */
export const logProofMembers = ({ merkle, attestation }: LogProof) => ({ merkle, ...attestation.stamp })

/** The member for the block of a confirmed anchor. */
export const blockMember = (blockNumber: number | undefined) => (blockNumber === undefined ? {} : { blockNumber })

const NOTES = {
  none: 'Time and existence are not yet confirmed by anyone outside this registry',
  operator: "By the operator's own test authority or ledger: it proves no time to others",
  independent:
    'By an authority or a chain that the registry names as independent: a verifier pins those that it trusts',
} as const

/** Proven is only "not later than genTime or blockTime", and only as far as their source is trusted. */
export function assuranceOf(proof: LogProof | undefined): AssuranceNote {
  const { time, anchor } = proof?.attestation.assurance ?? ({ time: 'none', anchor: 'none' } as const)
  const best = (['independent', 'operator'] as const).find((level) => level === time || level === anchor) ?? 'none'
  return { time, anchor, note: NOTES[best] }
}

/** The 32 bytes of a txId, `undefined` for any text that cannot be one. */
export function entryOfHex(txId: string): Uint8Array | undefined {
  const hex = hexInput(txId)
  return hex.length === 64 ? fromHex(hex) : undefined
}

/**
 * The proof of a stored event, `undefined` until it is sealed. Its path starts at the position in its record. It is
 * looked up by its txId if no batch has that position, so that a wrong one does not show it as if it waited.
 */
export async function proveEvent(
  context: ProofContext,
  { txId, position }: Pick<EventRecord, 'txId' | 'position'>,
): Promise<LogProof | undefined> {
  const { log } = context
  const [placed] = await log.statusesAt([position])
  const [status] = placed?.batch ? [placed] : await log.eventStatuses([txId])
  return status && proveEntry(context, entryOfTxId(txId), status)
}

/** What the proofs of all entries of a batch have in common. It is frozen, because these proofs share it. */
export interface BatchAttestation {
  readonly batch: BatchRecord
  readonly sendStatus: Exclude<SendStatus, null>
  /** The signed checkpoint at the batch's end, with its cosignatures. */
  readonly checkpoint: string
  readonly anchor: AnchorProof | undefined
  readonly stamp: StampProof | undefined
  readonly blockNumber: number | undefined
  readonly assurance: Omit<AssuranceNote, 'note'>
}

interface StampProof {
  readonly tsa: TsaProof
  readonly tsas: TsaProof[]
}

/** A time in a proof document. */
export const rfc3339 = (ms: number): string => new Date(ms).toISOString()

/** Of the attestations as JSON, which is about as much again as what was read. */
const MAX_CACHED_CHARS = 8 * 1024 * 1024

interface CachedAttestation {
  /** The `attestationVersion` before it was read. */
  readonly version: string
  readonly attestation: BatchAttestation
  readonly json: string
}

/**
 * Reads what attests the batches: their checkpoints, stamps and anchors. Caches what it has read until a stamp or an
 * anchor changes. It learns that from the store, so that several servers may share one.
 */
export class BatchAttestations {
  readonly #log: LogReader
  readonly #cached: BoundedMap<number, CachedAttestation>

  constructor(log: LogReader, maxCachedChars = MAX_CACHED_CHARS) {
    this.#log = log
    this.#cached = new BoundedMap(maxCachedChars, ({ json }) => json.length)
  }

  /**
   * Returns the same object as before if the attestations of this batch have not changed. `undefined` until the batch
   * has a signed checkpoint. Throws `CORRUPT`.
   */
  async of(batch: BatchRecord): Promise<BatchAttestation | undefined> {
    const version = await this.#log.attestationVersion()
    const cached = this.#cached.get(batch.end)
    if (cached !== undefined && cached.version === version) return cached.attestation
    const read = await readAttestation(this.#log, batch)
    if (read === undefined) return read
    const json = JSON.stringify(read)
    const attestation = cached?.json === json ? cached.attestation : deepFreeze(read)
    this.#cached.set(batch.end, { version, attestation, json })
    return attestation
  }
}

async function readAttestation(log: LogReader, batch: BatchRecord): Promise<BatchAttestation | undefined> {
  // First, so that an anchor which is confirmed meanwhile is shown as sent.
  const sendStatus = sendStatusOf(batch, await log.anchorHead())
  const [checkpoint, cosignatures, anchor, stamp] = await Promise.all([
    log.checkpoints.ofBatch(batch),
    log.checkpoints.cosignatures(batch.end),
    log.anchorCovering(batch.end),
    log.shownStamp(batch.end),
  ])
  if (checkpoint === undefined) return undefined
  const claim = stamp && claimOf(stamp)
  // A reorganization of the chain may have removed it between the two reads.
  const confirmation = anchor?.confirmation
  return {
    batch,
    sendStatus,
    checkpoint: withSignatures(checkpoint.note, cosignatures),
    anchor: anchor && confirmation && (await anchorProof(log, batch, anchor, confirmation)),
    stamp: stamp && claim && (await stampProof(log, batch, stamp, claim)),
    blockNumber: confirmation?.blockNumber,
    assurance: { time: claim?.assurance ?? 'none', anchor: (confirmation && anchor?.info.assurance) ?? 'none' },
  }
}

/** The path from the tree of a batch to a later one, verified. */
async function consistencyOf(
  log: LogReader,
  batch: BatchRecord,
  later: { readonly size: number; readonly root: Uint8Array },
): Promise<string[]> {
  const trees = { fromSize: batch.end, fromRoot: rootOf(batch), toSize: later.size, toRoot: later.root }
  return (await log.tree.proveConsistency(trees)).map(toHex)
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

async function stampProof(
  log: LogReader,
  batch: BatchRecord,
  { size, checkpoint, tokens }: StampRecord,
  claim: StampClaim,
): Promise<StampProof> {
  const root = storedBase64(checkpoint.split('\n', 3)[2], 'The root of a stamped checkpoint')
  const consistency = await consistencyOf(log, batch, { size, root })
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

/** The root of a batch or of an anchored tree. */
const rootOf = ({ root }: { readonly root: string }): Uint8Array => storedBytes(root, 'A stored root')

function deepFreeze<T extends object>(value: T): T {
  for (const member of Object.values(value)) if (typeof member === 'object' && member !== null) deepFreeze(member)
  return Object.freeze(value)
}
