import type { ProofBlock } from '../../core/ports.ts'
import { HASH_BYTES } from '../../core/tree/hasher.ts'
import { MAX_PROOF_ITEMS } from '../../core/tree/proof.ts'
import { FULL_TILE_BYTES, TILE_HEIGHT, TILE_WIDTH, widthOf } from '../../core/tree/tile.ts'
import { openKernel, type Kernel } from './kernel.ts'
import { ROOM_AT } from './layout.ts'
import type { Module } from './webassembly.ts'

/** Bytes of a block's packed proofs. */
export const proofBytesOf = ({ first, end, levels, above }: ProofBlock): number =>
  (end - first) * (levels * HASH_BYTES + above.length)

const UPPER_BYTES = MAX_PROOF_ITEMS * HASH_BYTES
const TILE_AT = ROOM_AT
const COMMON_AT = TILE_AT + FULL_TILE_BYTES
const PROOFS_AT = COMMON_AT + UPPER_BYTES

/** Throws a RangeError where the block's tile does not hold what the block says, or its parts have lengths that do not fit. */
export function assertHeld({ first, end, entries, tile, levels, above }: ProofBlock): void {
  const width = widthOf(tile) ?? 0
  const start = first % TILE_WIDTH
  const isPlace = Number.isSafeInteger(first) && first >= 0 && end > first && levels >= 0 && levels <= TILE_HEIGHT
  // Rows are read up to the end of the complete subtree of 2^levels leaves that the block's last leaf lies in.
  const subtree = 2 ** levels
  const isHeld = isPlace && Math.ceil((start + end - first) / subtree) * subtree <= width
  const isPacked = entries.length === (end - first) * HASH_BYTES && above.length % HASH_BYTES === 0
  if (!isHeld || !isPacked || above.length > UPPER_BYTES)
    throw new RangeError(`A tile of ${width} leaves does not hold the proofs of leaves ${first} to ${end}`)
}

/** Copies blocks' proofs out of their tiles, through a room of its own. */
export class ProofCopier {
  readonly #kernel: Kernel
  readonly #bytes: Uint8Array

  constructor(module: Module) {
    const { kernel, bytes } = openKernel(module, PROOFS_AT - ROOM_AT + TILE_WIDTH * UPPER_BYTES)
    this.#kernel = kernel
    this.#bytes = bytes
  }

  /**
   * The proofs of the block's leaves, one after the other, leaf to root. They are a view that the next call overwrites. Throws a
   * RangeError where the tile does not hold the block.
   */
  copy(block: ProofBlock): Uint8Array {
    assertHeld(block)
    const { tile, levels, above } = block
    const first = block.first % TILE_WIDTH
    const end = first + block.end - block.first
    const width = widthOf(tile) as number
    this.#bytes.set(tile, TILE_AT)
    this.#bytes.set(above, COMMON_AT)
    this.#kernel.copyProofs(TILE_AT, width, levels, COMMON_AT, above.length, first, end, PROOFS_AT)
    return this.#bytes.subarray(PROOFS_AT, PROOFS_AT + proofBytesOf(block))
  }
}
