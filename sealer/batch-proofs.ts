import { setImmediate as nextTurn } from 'node:timers/promises'
import { RegistryError } from '../core/errors.ts'
import type { ProofBlock } from '../core/log/proof-blocks.ts'
import type { LogReader } from '../core/log/reader.ts'
import { HASH_BYTES } from '../core/log/tree/hasher.ts'
import { compileKernel } from './kernel/kernel.ts'
import { ProofWriter, type ProofFormat } from './kernel/proofs.ts'

export interface BatchProofsRequest {
  /** The registry's `log`. */
  readonly log: LogReader
  readonly batchId: string
  readonly format: ProofFormat
  readonly signal?: AbortSignal
}

/** Some of a batch's proofs, in the order of their leaves: of 256 at most. */
export interface BatchProofs {
  /** The leaves: places in the log, `end` exclusive. */
  readonly first: number
  readonly end: number
  /** Hashes in each of these proofs. */
  readonly items: number
  /** `packed`: (end - first) × items × 32 bytes, 160 KiB at 2^20 leaves. `ndjson`: end - first lines, 360 KiB. */
  readonly bytes: Uint8Array
}

export interface WriteBatchProofsRequest extends BatchProofsRequest {
  /**
   * Takes what comes next. The bytes are lent, as to `fs.write`: once it has returned, or what it returned has settled, they are
   * overwritten. It is not called again before that. What it throws ends the writing.
   */
  readonly write: (proofs: BatchProofs) => void | Promise<unknown>
}

/** Blocks of up to 256 proofs between two turns of the event loop: some 1 ms. A turn for each read made packed proofs 10 % slower. */
const BLOCKS_PER_TURN = 64

/**
 * The inclusion proofs of all leaves of a batch, to its own root, in order: handed over where they are made, in memory that stays in
 * cache, so that nothing is copied or allocated for them. All in this thread, which is held for some 1 ms at a time beside what `write`
 * takes; handing them to and from workers takes longer than making them (bench/README.md). Throws `BATCH_NOT_FOUND`, `CORRUPT`
 * where a tile or an entry is gone, and the signal's reason.
 */
export async function writeBatchProofs({ write, ...request }: WriteBatchProofsRequest): Promise<void> {
  for await (const pieces of borrowedProofs(request))
    for (const piece of pieces) {
      const writing = write(piece)
      if (writing !== undefined) await writing
    }
}

/** The same as a stream: the bytes are the caller's. A reader that is slow is waited for. */
export async function* batchProofs(request: BatchProofsRequest): AsyncGenerator<BatchProofs, void, undefined> {
  for await (const pieces of borrowedProofs(request))
    for (const piece of pieces) yield { ...piece, bytes: piece.bytes.slice() }
}

/** One is kept for who comes next: a batch of 1,000 leaves takes less time than a new one's memory. */
let cachedWriter: ProofWriter | undefined

/** Some pieces at a time, each made when it is asked for, over the one before. */
async function* borrowedProofs({
  log,
  batchId,
  format,
  signal,
}: BatchProofsRequest): AsyncGenerator<Iterable<BatchProofs>, void, undefined> {
  signal?.throwIfAborted()
  const batch = await log.batchById(batchId)
  if (batch === undefined) throw new RegistryError('BATCH_NOT_FOUND', `There is no batch ${batchId}`)
  const { start: from, end: to } = batch
  const module = await compileKernel()
  const writer = cachedWriter ?? new ProofWriter(module)
  cachedWriter = undefined
  try {
    let held = 0
    for await (const blocks of log.proofBlocks({ from, to, treeSize: to, withEntries: format === 'ndjson' })) {
      held += blocks.length
      // A store that has its answers at hand gives nobody else a turn.
      if (held > BLOCKS_PER_TURN) {
        await nextTurn()
        held = blocks.length
      }
      yield piecesOf(blocks, writer, format, signal)
    }
  } finally {
    cachedWriter = writer
  }
}

function* piecesOf(
  blocks: readonly ProofBlock[],
  writer: ProofWriter,
  format: ProofFormat,
  signal: AbortSignal | undefined,
): Generator<BatchProofs, void, undefined> {
  for (const block of blocks) {
    signal?.throwIfAborted()
    const items = block.levels + block.above.length / HASH_BYTES
    yield { first: block.first, end: block.end, items, bytes: writer.write(block, format) }
  }
}
