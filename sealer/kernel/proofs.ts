import type { ProofBlock } from '../../core/log/proof-blocks.ts'
import { HASH_BYTES } from '../../core/log/tree/hasher.ts'
import { MAX_PROOF_ITEMS } from '../../core/log/tree/proof.ts'
import { FULL_TILE_BYTES, TILE_HEIGHT, TILE_WIDTH, widthOf } from '../../core/log/tree/tile.ts'
import { openKernel, type Kernel } from './kernel.ts'
import { WORKSPACE_AT } from './layout.ts'
import type { Module } from './webassembly.ts'

/**
 * How proofs are encoded.
 *
 * - `packed`: for each leaf its hashes of 32 bytes, from the leaf's sibling up to the root, without separators.
 * - `ndjson`: for each leaf a line `{"leafIndex":0,"entry":"hex","proof":["hex",…]}`. An event's entry is its txId.
 */
export type ProofFormat = 'packed' | 'ndjson'

/** Bytes of a block's packed proofs. */
const proofBytesOf = ({ first, end, levels, above }: ProofBlock): number =>
  (end - first) * (levels * HASH_BYTES + above.length)

const ascii = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0))
/** The parts of a line. The leaf's index, the entry's item and the proof's items are between them. */
const LEAF = ascii('{"leafIndex":')
const ENTRY = ascii(',"entry":')
const PROOF = ascii('"proof":[')
const END = ascii(']}\n')
/** A hash with its quotes and a comma. */
const ITEM_BYTES = 2 * HASH_BYTES + 3
const MAX_HEAD_BYTES = LEAF.length + String(Number.MAX_SAFE_INTEGER).length + ENTRY.length
const MAX_LINE_BYTES =
  MAX_HEAD_BYTES + ITEM_BYTES + PROOF.length + (TILE_HEIGHT + MAX_PROOF_ITEMS) * ITEM_BYTES + END.length
/** The copy loops read and write up to two vectors too many. */
const SLACK_BYTES = 32

const MAX_ABOVE_BYTES = MAX_PROOF_ITEMS * HASH_BYTES
const TILE_AT = WORKSPACE_AT
const ABOVE_AT = TILE_AT + FULL_TILE_BYTES
const ENTRIES_AT = ABOVE_AT + MAX_ABOVE_BYTES
const HEAD_AT = ENTRIES_AT + TILE_WIDTH * HASH_BYTES
const MIDDLE_AT = HEAD_AT + MAX_HEAD_BYTES + SLACK_BYTES
const TILE_ITEMS_AT = MIDDLE_AT + PROOF.length + SLACK_BYTES
const ENTRY_ITEMS_AT = TILE_ITEMS_AT + (FULL_TILE_BYTES / HASH_BYTES) * ITEM_BYTES
const TAIL_AT = ENTRY_ITEMS_AT + TILE_WIDTH * ITEM_BYTES
const OUT_AT = TAIL_AT + MAX_PROOF_ITEMS * ITEM_BYTES + END.length + SLACK_BYTES
const WORKSPACE_BYTES = OUT_AT + TILE_WIDTH * MAX_LINE_BYTES + SLACK_BYTES - WORKSPACE_AT

/**
 * Throws a RangeError if the block's tile does not hold all leaves and siblings, or if the lengths of its parts do not
 * match.
 */
function assertComplete({ first, end, entries, tile, levels, above }: ProofBlock): void {
  const width = widthOf(tile) ?? 0
  const start = first % TILE_WIDTH
  const isValidRange = Number.isSafeInteger(first) && first >= 0 && end > first && levels >= 0 && levels <= TILE_HEIGHT
  // Rows are read up to the end of the complete subtree of 2^levels leaves that contains the block's last leaf.
  const subtree = 2 ** levels
  const isHeld = isValidRange && Math.ceil((start + end - first) / subtree) * subtree <= width
  const hasAllEntries = entries === undefined || entries.length === (end - first) * HASH_BYTES
  if (!isHeld || !hasAllEntries || above.length % HASH_BYTES !== 0 || above.length > MAX_ABOVE_BYTES)
    throw new RangeError(`A tile of ${width} leaves does not hold the proofs of leaves ${first} to ${end}`)
}

/** Writes the proofs of blocks, in its own memory, which stays in the CPU's cache. */
export class ProofWriter {
  readonly #kernel: Kernel
  readonly #bytes: Uint8Array

  constructor(module: Module) {
    const { kernel, bytes } = openKernel(module, WORKSPACE_BYTES, false)
    this.#kernel = kernel
    this.#bytes = bytes
    bytes.set(LEAF, HEAD_AT)
    bytes.set(PROOF, MIDDLE_AT)
  }

  /**
   * Writes all proofs of the block. Returns a view that the next call overwrites. Throws a RangeError if the block's
   * tile does not hold them, and for `ndjson` without entries.
   */
  write(block: ProofBlock, format: ProofFormat): Uint8Array {
    assertComplete(block)
    this.#bytes.set(block.tile, TILE_AT)
    this.#bytes.set(block.above, ABOVE_AT)
    return this.#bytes.subarray(OUT_AT, format === 'packed' ? this.#writePacked(block) : this.#writeLines(block))
  }

  /** Returns the offset where the proofs end. */
  #writePacked(block: ProofBlock): number {
    const { tile, levels, above } = block
    const first = block.first % TILE_WIDTH
    const width = widthOf(tile) as number
    this.#kernel.copyProofs(
      TILE_AT,
      width,
      levels,
      ABOVE_AT,
      above.length,
      first,
      first + block.end - block.first,
      OUT_AT,
    )
    return OUT_AT + proofBytesOf(block)
  }

  /**
   * Converts each hash to text once, although a tile's hashes are in many lines, and copies the lines together from
   * these texts. Returns the offset where the lines end.
   */
  #writeLines(block: ProofBlock): number {
    const { tile, levels, above, entries } = block
    if (entries === undefined) throw new RangeError('The format ndjson needs the entries of the block')
    this.#bytes.set(entries, ENTRIES_AT)
    this.#kernel.writeItems(TILE_AT, tile.length / HASH_BYTES, TILE_ITEMS_AT)
    this.#kernel.writeItems(ENTRIES_AT, entries.length / HASH_BYTES, ENTRY_ITEMS_AT)
    const [tailBytes, overlap] = this.#writeTail(above.length / HASH_BYTES, levels)
    const width = widthOf(tile) as number
    let out = OUT_AT
    for (let first = block.first, end: number; first < block.end; first = end) {
      const digits = String(first).length
      end = Math.min(block.end, 10 ** digits)
      const digitAt = this.#writeHead(first)
      const inTile = first % TILE_WIDTH
      const entriesAt = ENTRY_ITEMS_AT + (first - block.first) * ITEM_BYTES
      out = this.#kernel.writeLines(
        TILE_ITEMS_AT,
        width,
        levels,
        HEAD_AT,
        digitAt + 1 + ENTRY.length - HEAD_AT,
        digitAt,
        entriesAt,
        MIDDLE_AT,
        PROOF.length,
        TAIL_AT,
        tailBytes,
        overlap,
        inTile,
        inTile + end - first,
        out,
      )
    }
    return out
  }

  /** Returns the offset of the last digit. */
  #writeHead(leaf: number): number {
    const digits = ascii(String(leaf))
    const end = HEAD_AT + LEAF.length + digits.length
    this.#bytes.set(digits, end - digits.length)
    this.#bytes.set(ENTRY, end)
    return end - 1
  }

  /**
   * Writes the items above the tile and the end of a line. `overlap`: bytes before it that it overwrites, a comma too
   * many.
   */
  #writeTail(items: number, levels: number): readonly [bytes: number, overlap: number] {
    this.#kernel.writeItems(ABOVE_AT, items, TAIL_AT)
    const end = TAIL_AT + items * ITEM_BYTES - Math.min(items, 1)
    this.#bytes.set(END, end)
    return [end + END.length - TAIL_AT, items === 0 ? Math.min(levels, 1) : 0]
  }
}
