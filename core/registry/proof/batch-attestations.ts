import type { AnchorProof, AssuranceNote, TsaProof } from '../../schemas/proof-documents.ts'
import { fromBase64, fromHex, toBase64, toHex } from '../../bytes.ts'
import type { LogReader } from '../../log/reader.ts'
import type { AnchorRecord, BatchRecord, StampRecord, StampToken } from '../../log/records.ts'
import { claimOf, type StampClaim } from '../../log/stamp-claim.ts'
import { BoundedMap } from '../../store/cache.ts'

/** What the proofs of all entries of a batch have in common. It is frozen, because these proofs share it. */
export interface BatchAttestation {
  /** The signed checkpoint at the batch's end. */
  readonly checkpoint: string
  readonly anchor: AnchorProof | undefined
  readonly stamp: StampProof | undefined
  readonly blockNumber: number | undefined
  readonly assurance: Omit<AssuranceNote, 'note'>
}

export interface StampProof {
  readonly tsa: TsaProof
  readonly tsas: TsaProof[]
}

/** A time in a proof document. */
export const rfc3339 = (ms: number): string => new Date(ms).toISOString()

/** Of the attestations as JSON. */
const MAX_CACHED_CHARS = 8 * 1024 * 1024

interface CachedAttestation {
  readonly attestation: BatchAttestation
  readonly jsonLength: number
}

/**
 * Reads what attests the batches: their checkpoints, stamps and anchors. Keeps what it has read until a stamp or an
 * anchor changes. It learns that from the store, so that several servers may share one.
 */
export class BatchAttestations {
  readonly #log: LogReader
  readonly #cache: BoundedMap<number, CachedAttestation>
  #version: string | undefined

  constructor(log: LogReader, maxCachedChars = MAX_CACHED_CHARS) {
    this.#log = log
    this.#cache = new BoundedMap(maxCachedChars, ({ jsonLength }) => jsonLength)
  }

  /** `undefined` until the batch has a signed checkpoint. Throws `CORRUPT`. */
  async of(batch: BatchRecord): Promise<BatchAttestation | undefined> {
    const version = await this.#log.attestationVersion()
    if (version !== this.#version) this.#cache.clear()
    this.#version = version
    const cached = this.#cache.get(batch.end)
    if (cached !== undefined) return cached.attestation
    const read = await readAttestation(this.#log, batch)
    if (read === undefined || version === undefined || version !== this.#version) return read
    this.#cache.set(batch.end, { attestation: deepFreeze(read), jsonLength: JSON.stringify(read).length })
    return read
  }
}

async function readAttestation(log: LogReader, batch: BatchRecord): Promise<BatchAttestation | undefined> {
  const [checkpoint, anchor, stamp] = await Promise.all([
    log.checkpointOf(batch),
    log.anchorCovering(batch.end),
    log.stampCovering(batch.end),
  ])
  if (checkpoint === undefined) return undefined
  const claim = stamp && claimOf(stamp)
  // A reorganization of the chain may have removed it between the two reads.
  const confirmation = anchor?.confirmation
  return {
    checkpoint: checkpoint.note,
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
  return (await log.proveConsistency(trees)).map(toHex)
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

/** The root of a batch or of an anchored tree. */
export const rootOf = ({ root }: { readonly root: string }): Uint8Array => fromHex(root) ?? new Uint8Array()

function deepFreeze<T extends object>(value: T): T {
  for (const member of Object.values(value)) if (typeof member === 'object' && member !== null) deepFreeze(member)
  return Object.freeze(value)
}
