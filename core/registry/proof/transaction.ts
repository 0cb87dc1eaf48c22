import type { MerkleProof, MerkleRoot } from '../../schemas/proof-documents.ts'
import { fromBase64, toHex } from '../../bytes.ts'
import { RegistryError } from '../../errors.ts'
import type { LogReader } from '../../log/reader.ts'
import type { BatchRecord } from '../../log/records.ts'
import { claimOf, type StampClaim } from '../../log/stamp-claim.ts'
import { requireBatch } from '../batches.ts'
import type { Context } from '../context.ts'
import { entryOf } from './events.ts'
import { invalid } from './find-evidence.ts'
import { assuranceOf, rfc3339 } from './document.ts'
import { proveEntry } from './log-proof.ts'

const malformed = invalid('txId must be a string of 64 hex digits')
const notInLog = { status: 'not_found', error: 'This log does not contain the txId', code: 'NOT_FOUND' } as const

/** The path of any log entry to the root of its batch. */
export async function proveTransaction(context: Context, text: string): Promise<MerkleProof> {
  const entry = entryOf(text)
  if (entry === undefined) return { ...malformed, txId: text }
  const txId = toHex(entry)
  const [payload, [status]] = await Promise.all([context.log.payloadOf(entry), context.log.entryStatuses([entry])])
  if (status === undefined || payload === undefined) return { ...notInLog, txId }
  const proof = await proveEntry(context, entry, status)
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
export async function describeRoot({ log }: Context, txId: string): Promise<MerkleRoot> {
  const entry = entryOf(txId)
  if (entry === undefined) return malformed
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
export async function timestampToken({ log }: Context, batchId: string): Promise<Uint8Array> {
  const claim = await stampClaimOf(log, await requireBatch(log, batchId))
  if (claim === undefined)
    throw new RegistryError('BATCH_NOT_FOUND', 'This batch has no time stamp yet; try again later')
  const der = fromBase64(claim.token.token)
  if (der === undefined)
    throw new RegistryError('CORRUPT', 'A stored time stamp is not base64: restore the store from a backup')
  return der
}

/** What the first stamp that covers the batch claims, `undefined` if there is none yet. */
async function stampClaimOf(log: LogReader, batch: BatchRecord): Promise<StampClaim | undefined> {
  const stamp = await log.stampCovering(batch.end)
  return stamp && claimOf(stamp)
}

/** The number of levels between a leaf and the root. */
const treeDepth = (treeSize: number): number => (treeSize < 2 ? 0 : Math.floor(Math.log2(treeSize - 1)) + 1)
