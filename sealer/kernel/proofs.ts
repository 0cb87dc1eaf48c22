import type { ProofBlock } from '../../core/log/proof-blocks.ts'
import { HASH_BYTES } from '../../core/log/tree/hash.ts'
import { MAX_PROOF_ITEMS } from '../../core/log/tree/proof.ts'
import { FULL_TILE_BYTES, TILE_HEIGHT, TILE_WIDTH, widthOf } from '../../core/log/tree/tile.ts'
import { openKernel, type Kernel, type Module } from './kernel.ts'
import { WORKSPACE_AT } from './layout.ts'

/** Bytes of a block's packed proofs. */
const proofBytesOf = ({ first, end, levels, above }: ProofBlock): number =>
  (end - first) * (levels * HASH_BYTES + above.length)

const MAX_ABOVE_BYTES = MAX_PROOF_ITEMS * HASH_BYTES
const TILE_AT = WORKSPACE_AT
const ABOVE_AT = TILE_AT + FULL_TILE_BYTES
const OUT_AT = ABOVE_AT + MAX_ABOVE_BYTES
const WORKSPACE_BYTES = OUT_AT + TILE_WIDTH * (TILE_HEIGHT * HASH_BYTES + MAX_ABOVE_BYTES) - WORKSPACE_AT

/**
 * How many hashes row 0 of a block's tile has. Throws a RangeError if it does not hold all leaves and siblings, or
 * if the lengths of its parts do not match.
 */
function widthOfComplete({ first, end, tile, levels, above }: ProofBlock): number {
  const width = widthOf(tile) ?? 0
  const start = first % TILE_WIDTH
  const isValidRange = Number.isSafeInteger(first) && first >= 0 && end > first && levels >= 0 && levels <= TILE_HEIGHT
  // Rows are read up to the end of the complete subtree of 2^levels leaves that contains the block's last leaf.
  const subtree = 2 ** levels
  const isHeld = isValidRange && Math.ceil((start + end - first) / subtree) * subtree <= width
  if (!isHeld || above.length % HASH_BYTES !== 0 || above.length > MAX_ABOVE_BYTES)
    throw new RangeError(`A tile of ${width} leaves does not hold the proofs of leaves ${first} to ${end}`)
  return width
}

/** Writes the proofs of blocks, in its own memory, which stays in the CPU's cache. */
export class ProofWriter {
  readonly #kernel: Kernel
  readonly #bytes: Uint8Array

  constructor(module: Module) {
    const { kernel, bytes } = openKernel(module, WORKSPACE_BYTES, false)
    this.#kernel = kernel
    this.#bytes = bytes
  }

  /**
   * Writes the proofs of the block's leaves: for each its hashes of 32 bytes, from the sibling up to the root, without
   * separators. Returns a view that the next call overwrites. Throws a RangeError if the block's tile does not hold
   * them.
   */
  write(block: ProofBlock): Uint8Array {
    const width = widthOfComplete(block)
    const { tile, levels, above } = block
    this.#bytes.set(tile, TILE_AT)
    this.#bytes.set(above, ABOVE_AT)
    const first = block.first % TILE_WIDTH
    const end = first + block.end - block.first
    this.#kernel.copyProofs(TILE_AT, width, levels, ABOVE_AT, above.length, first, end, OUT_AT)
    return this.#bytes.subarray(OUT_AT, OUT_AT + proofBytesOf(block))
  }
}
