import type { MerkleValidation } from '../../schemas/proof-documents.ts'
import { toHex } from '../../bytes.ts'
import { RegistryError } from '../../errors.ts'
import { storedBase64 } from '../../store/codec.ts'
import type { LogReader, EntryStatus } from '../../log/reader.ts'
import type { BatchRecord } from '../../log/records.ts'
import { claimOf, type StampClaim } from '../../log/attestation-rules.ts'
import { requireBatch } from '../batches.ts'
import type { Context } from '../context.ts'
import { assuranceOf, entryOfHex, type ProofContext, proveEntry, rfc3339 } from './log-proof.ts'
import { invalid } from './find-evidence.ts'
import { MerkleValidationRequest } from '../../schemas/proof-inputs.ts'
import type { Proofs } from '../../api/proofs.ts'
import { leafHash } from '../../log/tree/hash.ts'
import { rootFromInclusionProof, rootFromSides, sidesOf } from '../../log/tree/proof.ts'
import { hexInput, validate } from '../../schemas/validation.ts'

export const malformedTxId = invalid('txId must be a string of 64 hex digits')
const notInLog = { status: 'not_found', error: 'This log does not contain the txId', code: 'NOT_FOUND' } as const

/** The path of any log entry to the root of its batch. */
export const proveTransaction =
  (context: ProofContext): Proofs['transaction'] =>
  async (text) => {
    const entry = entryOfHex(text)
    if (entry === undefined) return { ...malformedTxId, txId: text }
    const txId = toHex(entry)
    const [status] = await context.log.entryStatuses([entry])
    if (status === undefined) return { ...notInLog, txId }
    const [payload, proof] = await Promise.all([
      context.log.payloadAt(status.position, entry),
      proveEntry(context, entry, status),
    ])
    const proven = { opening: toHex(payload.opening), assurance: assuranceOf(proof) }
    if (proof === undefined) return { status: 'pending', txId, ...proven }
    const { merkleRoot, leafIndex, proof: path, treeSize, batchId, sendStatus, checkpoint } = proof.merkle
    return {
      status: 'ok',
      txId,
      merkleRoot,
      leafIndex,
      proof: path,
      treeSize,
      batchId,
      sendStatus,
      checkpoint,
      ...proven,
    }
  }

/** The batch of any log entry: its root and its stamp. */
export const describeRoot =
  ({ log }: Context): Proofs['root'] =>
  async (txId) => {
    const entry = entryOfHex(txId)
    if (entry === undefined) return malformedTxId
    const [status] = await log.entryStatuses([entry])
    if (status === undefined) return notInLog
    const { batch, sendStatus } = status
    if (batch === null || sendStatus === null) return { status: 'pending' }
    const token = (await stampClaimOf(log, batch))?.token
    return {
      status: 'ok',
      merkleRoot: batch.root,
      txidCount: batch.end - batch.start,
      sendStatus,
      treeDepth: treeDepth(batch.end),
      createdAt: rfc3339(batch.createdAt),
      ...(token && { tsaGenTime: rfc3339(token.genTime), tsaSerial: token.serialNumber, tsaPolicy: token.policy }),
      batchId: batch.id,
    }
  }

/** The DER TimeStampResp of the stamp that covers a batch. Throws `BATCH_NOT_FOUND`. */
export const timestampToken =
  ({ log }: Context): Proofs['timestampToken'] =>
  async (batchId) => {
    const claim = await stampClaimOf(log, await requireBatch(log, batchId))
    if (claim === undefined)
      throw new RegistryError('BATCH_NOT_FOUND', 'This batch has no time stamp yet; try again later')
    return storedBase64(claim.token.token, 'A stored time stamp')
  }

/** What the stamp that covers the batch claims, `undefined` if there is none yet. */
async function stampClaimOf(log: LogReader, batch: BatchRecord): Promise<StampClaim | undefined> {
  const stamp = await log.shownStamp(batch.end)
  return stamp && claimOf(stamp)
}

/** The number of levels between a leaf and the root. */
const treeDepth = (treeSize: number): number => (treeSize < 2 ? 0 : Math.floor(Math.log2(treeSize - 1)) + 1)

/**
 * Whether a caller's own path leads from a txId to a root, and whether this log knows the two. Throws
 * `VALIDATION_ERROR`.
 */
export const validatePath =
  (log: LogReader): Proofs['validate'] =>
  async (input) => {
    const request = knownMembers(validate(MerkleValidationRequest, input))
    const [[status], rootSize] = await Promise.all([
      log.entryStatuses([bytesOf(request.txId)]),
      log.sizeOfRoot(request.merkleRoot),
    ])
    return judge(request, status, rootSize)
  }

/** The members that are used, with hashes in lowercase. */
const knownMembers = ({ txId, merkleRoot, proof }: MerkleValidationRequest): MerkleValidationRequest => ({
  txId: hexInput(txId),
  merkleRoot: hexInput(merkleRoot),
  proof: proof.map(({ hash, position }) => ({ hash: hexInput(hash), ...(position !== undefined && { position }) })),
})

/** `rootSize`: the size of the tree with the requested root, `undefined` if this log never sealed the root. */
function judge(
  { txId, merkleRoot, proof }: MerkleValidationRequest,
  status: EntryStatus | undefined,
  rootSize: number | undefined,
): MerkleValidation {
  const treeSize = treeSizeOf(status, rootSize)
  const computed = computeRoot({ txId, proof, leafIndex: status?.position, treeSize })
  const known = {
    expectedRoot: merkleRoot,
    txIdKnown: status !== undefined,
    rootKnown: rootSize !== undefined,
    ...(status?.sendStatus && { sendStatus: status.sendStatus }),
  }
  if (status === undefined && computed === undefined)
    return { status: 'not_found', valid: false, ...known, ...NOT_FOUND }
  const computedRoot = computed && toHex(computed.root)
  const valid = proof.length > 0 && computed?.sidesMatch === true && computedRoot === merkleRoot
  const computedMember = computedRoot === undefined ? {} : { computedRoot }
  if (rootSize === undefined) return { status: 'unknown_root', valid, ...computedMember, ...known, ...UNKNOWN_ROOT }
  if (computed === undefined && status?.batch === null) return { status: 'pending', valid: false, ...known, ...PENDING }
  if (valid && computedRoot !== undefined) return { status: 'ok', valid: true, computedRoot, ...known }
  const failure = { error: reasonOf(proof, computed), code: 'VERIFICATION_FAILED' }
  return { status: 'ok', valid: false, ...computedMember, ...known, ...failure }
}

const NOT_FOUND = {
  error: 'This log does not contain the txId, and without positions no root can be computed',
  code: 'NOT_FOUND',
}
const UNKNOWN_ROOT = { error: 'This log never sealed that root', code: 'UNKNOWN_ROOT' }
const PENDING = {
  error: 'This txId is not in a batch yet, and without positions no root can be computed',
  code: 'PENDING',
}

/**
 * A root that was sealed before the txId was recorded cannot contain it: then the path can only be that of its own
 * batch.
 */
const treeSizeOf = (status: EntryStatus | undefined, rootSize: number | undefined): number | undefined =>
  status !== undefined && rootSize !== undefined && status.position < rootSize ? rootSize : status?.batch?.end

interface Path {
  readonly txId: string
  readonly proof: MerkleValidationRequest['proof']
  readonly leafIndex: number | undefined
  readonly treeSize: number | undefined
}

interface ComputedRoot {
  readonly root: Uint8Array
  /** False if the txId is known and the request's positions are not those of its leaf index. */
  readonly sidesMatch: boolean
}

/**
 * The root to which the caller's hashes lead: by the positions in the request or, if some are missing, by the leaf
 * index of the txId. Sides are never found by trial. `undefined` if the sides cannot be known.
 */
function computeRoot({ txId, proof, leafIndex, treeSize }: Path): ComputedRoot | undefined {
  const leaf = leafHash(bytesOf(txId))
  const expected =
    leafIndex !== undefined && treeSize !== undefined && leafIndex < treeSize
      ? { leafIndex, treeSize, sides: sidesOf(leafIndex, treeSize) }
      : undefined
  const matches = proof.every(({ position }, i) => position === undefined || position === expected?.sides[i])
  const items = proof.flatMap(({ hash, position: side }) => (side === undefined ? [] : [{ hash: bytesOf(hash), side }]))
  if (proof.length > 0 && items.length === proof.length) {
    const sidesMatch = expected === undefined || (matches && proof.length === expected.sides.length)
    return { root: rootFromSides(leaf, items), sidesMatch }
  }
  if (expected === undefined) return undefined
  const { leafIndex: index, treeSize: size } = expected
  const hashes = proof.map(({ hash }) => bytesOf(hash))
  const root = rootFromInclusionProof({ leafHash: leaf, leafIndex: index, treeSize: size, proof: hashes })
  return root && { root, sidesMatch: matches }
}

function reasonOf(proof: MerkleValidationRequest['proof'], computed: ComputedRoot | undefined): string {
  if (proof.length === 0) return 'An empty proof proves nothing'
  if (computed === undefined) return 'The proof does not have the length of a path of this txId in this tree'
  return computed.sidesMatch
    ? 'The path leads to another root'
    : 'The positions are not those of the leaf index of this txId'
}

/** Requires lowercase hex. */
const bytesOf = (hash: string): Uint8Array => Buffer.from(hash, 'hex')
