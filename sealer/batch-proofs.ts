import { RegistryError } from '../core/errors.ts'
import type { LogReader } from '../core/log/reader.ts'
import type { ProofBlock, ProofFormat, TreeEngine } from '../core/ports.ts'
import { HASH_BYTES } from '../core/tree/hasher.ts'

export interface BatchProofsRequest {
  /** The registry's `log`. */
  readonly log: LogReader
  /** Copies and writes. Not closed here. */
  readonly engine: TreeEngine
  readonly batchId: string
  readonly format: ProofFormat
  readonly signal?: AbortSignal
}

/** Some of a batch's proofs, in the order of their leaves. */
export interface BatchProofs {
  /** The leaves: places in the log, `end` exclusive. */
  readonly first: number
  readonly end: number
  /** Hashes in each of these proofs. */
  readonly items: number
  /** The caller's. `packed`: (end - first) × items × 32 bytes. `ndjson`: end - first lines. */
  readonly bytes: Uint8Array
}

/** Blocks that one call of the engine takes: up to 2,048 proofs, 1.3 MB packed at 2^20 leaves and 2.9 MB of lines. */
const BLOCKS_A_CALL = 8
/** Calls under way: enough for a pool's workers, and they bound the memory, since the next is only made when the first was taken. */
const CALLS_AHEAD = 5

/**
 * The inclusion proofs of all leaves of a batch, to its own root, in order. Pieces are made ahead of their reader by a fixed
 * number, however large the batch is. Throws `BATCH_NOT_FOUND`, what the engine throws, and the signal's reason.
 */
export async function* batchProofs({
  log,
  engine,
  batchId,
  format,
  signal,
}: BatchProofsRequest): AsyncGenerator<BatchProofs, void, undefined> {
  signal?.throwIfAborted()
  const batch = await log.batchById(batchId)
  if (batch === undefined) throw new RegistryError('BATCH_NOT_FOUND', `There is no batch ${batchId}`)
  const ahead: Promise<BatchProofs>[] = []
  try {
    for await (const blocks of alike(log.proofBlocks(batch.start, batch.end, batch.end))) {
      const piece = write(engine, blocks, format, signal)
      // It is awaited in its turn, perhaps not before another one failed.
      piece.catch(() => {})
      ahead.push(piece)
      if (ahead.length === CALLS_AHEAD) yield await (ahead.shift() as Promise<BatchProofs>)
    }
    for (let next; (next = ahead.shift()) !== undefined;) yield await next
  } finally {
    await Promise.allSettled(ahead)
  }
}

async function write(
  engine: TreeEngine,
  blocks: readonly ProofBlock[],
  format: ProofFormat,
  signal: AbortSignal | undefined,
): Promise<BatchProofs> {
  const [first, last] = [blocks[0] as ProofBlock, blocks.at(-1) as ProofBlock]
  const bytes = await engine.proofs(blocks, format, signal)
  return { first: first.first, end: last.end, items: itemsOf(first), bytes }
}

const itemsOf = ({ levels, above }: ProofBlock): number => levels + above.length / HASH_BYTES

/** Joins blocks whose proofs have one length. */
async function* alike(blocks: AsyncIterable<ProofBlock>): AsyncGenerator<readonly ProofBlock[], void, undefined> {
  let group: ProofBlock[] = []
  for await (const block of blocks) {
    const [first] = group
    if (first !== undefined && (group.length === BLOCKS_A_CALL || itemsOf(first) !== itemsOf(block))) {
      yield group
      group = []
    }
    group.push(block)
  }
  if (group.length > 0) yield group
}
