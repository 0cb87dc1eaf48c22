import { setImmediate as nextTurn } from 'node:timers/promises'
import { RegistryError } from '../core/errors.ts'
import type { PublishedLog } from '../core/api/log.ts'
import { HASH_BYTES } from '../core/log/tree/hash.ts'
import { compileKernel } from './kernel/kernel.ts'
import { ProofWriter } from './kernel/proofs.ts'

/** The proofs of at most 256 consecutive leaves of a batch, in log order. */
export interface BatchProofs {
  /** The leaves' indexes in the log, `end` exclusive. */
  readonly first: number
  readonly end: number
  /** The number of hashes in each of these proofs. */
  readonly items: number
  /**
   * For each leaf its hashes from the sibling up to the root, without separators: (end - first) × items × 32 bytes,
   * 160 KiB in a log of 2^20 leaves.
   */
  readonly bytes: Uint8Array
}

/** Which proofs to make, and where to write them. */
export interface WriteBatchProofsRequest {
  /** The registry's `log`. */
  readonly log: Pick<PublishedLog, 'batchById' | 'proofBlocks'>
  readonly batchId: string
  /**
   * Receives the next proofs. The bytes are borrowed: they are overwritten after it returned, or after its promise
   * settled. It is not called again before that. An error that it throws ends the writing.
   */
  readonly write: (proofs: BatchProofs) => void | Promise<unknown>
  readonly signal?: AbortSignal
}

/**
 * Blocks of up to 256 proofs in one turn of the event loop: about 1 ms. A turn for each read made packed proofs 10 %
 * slower.
 */
const BLOCKS_PER_TURN = 64

/**
 * Writes the inclusion proofs (RFC 9162 § 2.1.3) of all leaves of a batch to the batch's own root, in log order,
 * without copying them.
 *
 * Runs in the calling thread, about 1 ms at a time plus the time of `write`: handing proofs to and from workers takes
 * longer than making them (bench/README.md).
 *
 * @throws `BATCH_NOT_FOUND`, `CORRUPT` if a tile or an entry is missing, and the signal's reason.
 * @example
 * await writeBatchProofs({ log: registry.log, batchId, write: ({ bytes }) => file.appendFile(bytes) })
 */
export async function writeBatchProofs({ log, batchId, write, signal }: WriteBatchProofsRequest): Promise<void> {
  signal?.throwIfAborted()
  const batch = await log.batchById(batchId)
  if (batch === undefined) throw new RegistryError('BATCH_NOT_FOUND', `There is no batch ${batchId}`)
  const { start: from, end: to } = batch
  const module = await compileKernel()
  const writer = cachedWriter ?? new ProofWriter(module)
  cachedWriter = undefined
  try {
    let blocksThisTurn = 0
    for await (const blocks of log.proofBlocks({ from, to, treeSize: to })) {
      blocksThisTurn += blocks.length
      // A store that returns from its cache never yields to the event loop.
      if (blocksThisTurn > BLOCKS_PER_TURN) {
        await nextTurn()
        blocksThisTurn = blocks.length
      }
      for (const block of blocks) {
        signal?.throwIfAborted()
        const items = block.levels + block.above.length / HASH_BYTES
        const writing = write({ first: block.first, end: block.end, items, bytes: writer.write(block) })
        if (writing !== undefined) await writing
      }
    }
  } finally {
    cachedWriter = writer
  }
}

/** Cached for the next call: allocating a writer costs more than writing 1,000 proofs. */
let cachedWriter: ProofWriter | undefined
