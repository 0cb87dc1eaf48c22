import type { ProofBlock } from '../../core/log/proof-blocks.ts'
import { HASH_BYTES } from '../../core/log/tree/hasher.ts'
import { MAX_PROOF_ITEMS } from '../../core/log/tree/proof.ts'
import { FULL_TILE_BYTES, TILE_HEIGHT, TILE_WIDTH, widthOf } from '../../core/log/tree/tile.ts'
import { openKernel, type Kernel } from './kernel.ts'
import { WORKSPACE_AT } from './layout.ts'
import type { Module } from './webassembly.ts'

/**
 * How proofs are written. `packed`: per leaf its `levels` + n hashes of 32 bytes from the leaf's sibling to the root, nothing between.
 * `ndjson`: per leaf a line `{"leafIndex":0,"entry":"hex","proof":["hex",…]}`; an event's entry is its txId.
 */
export type ProofFormat = 'packed' | 'ndjson'

/** Bytes of a block's packed proofs. */
const proofBytesOf = ({ first, end, levels, above }: ProofBlock): number =>
  (end - first) * (levels * HASH_BYTES + above.length)

const ascii = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0))
/** A line: this, the leaf's index, this, the entry's item, this, the proof's items, this. */
const LEAF = ascii('{"leafIndex":')
const ENTRY = ascii(',"entry":')
const PROOF = ascii('"proof":[')
const END = ascii(']}\n')
/** A hash with its quotes and a comma. */
const ITEM_BYTES = 2 * HASH_BYTES + 3
const MAX_HEAD_BYTES = LEAF.length + String(Number.MAX_SAFE_INTEGER).length + ENTRY.length
const MAX_LINE_BYTES =
  MAX_HEAD_BYTES + ITEM_BYTES + PROOF.length + (TILE_HEIGHT + MAX_PROOF_ITEMS) * ITEM_BYTES + END.length
/** What copies two vectors at a time reads and writes so much more. */
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

/** Throws a RangeError where the block's tile does not hold what the block says, or its parts have lengths that do not fit. */
function assertHeld({ first, end, entries, tile, levels, above }: ProofBlock): void {
  const width = widthOf(tile) ?? 0
  const start = first % TILE_WIDTH
  const isPlace = Number.isSafeInteger(first) && first >= 0 && end > first && levels >= 0 && levels <= TILE_HEIGHT
  // Rows are read up to the end of the complete subtree of 2^levels leaves that the block's last leaf lies in.
  const subtree = 2 ** levels
  const isHeld = isPlace && Math.ceil((start + end - first) / subtree) * subtree <= width
  const isEach = entries === undefined || entries.length === (end - first) * HASH_BYTES
  if (!isHeld || !isEach || above.length % HASH_BYTES !== 0 || above.length > MAX_ABOVE_BYTES)
    throw new RangeError(`A tile of ${width} leaves does not hold the proofs of leaves ${first} to ${end}`)
}

/** Writes blocks' proofs, in a room of its own that stays in cache: what it answers is a view that the next call overwrites. */
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

  /** All proofs of the block. Throws a RangeError where its tile does not hold them, and for lines without entries. */
  write(block: ProofBlock, format: ProofFormat): Uint8Array {
    assertHeld(block)
    this.#bytes.set(block.tile, TILE_AT)
    this.#bytes.set(block.above, ABOVE_AT)
    return this.#bytes.subarray(OUT_AT, format === 'packed' ? this.#writePacked(block) : this.#writeLines(block))
  }

  /** Where the proofs end. */
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
   * Each hash becomes text once, though the tile's are in many lines, and the lines are copied together from these texts. Where they
   * end.
   */
  #writeLines(block: ProofBlock): number {
    const { tile, levels, above, entries } = block
    if (entries === undefined) throw new RangeError('Lines have entries')
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

  /** Where the last digit is. */
  #writeHead(leaf: number): number {
    const digits = ascii(String(leaf))
    const end = HEAD_AT + LEAF.length + digits.length
    this.#bytes.set(digits, end - digits.length)
    this.#bytes.set(ENTRY, end)
    return end - 1
  }

  /** The items above and what ends a line: its length, and how much it takes back of what stands before, which is a comma too many. */
  #writeTail(items: number, levels: number): readonly [bytes: number, overlap: number] {
    this.#kernel.writeItems(ABOVE_AT, items, TAIL_AT)
    const end = TAIL_AT + items * ITEM_BYTES - Math.min(items, 1)
    this.#bytes.set(END, end)
    return [end + END.length - TAIL_AT, items === 0 ? Math.min(levels, 1) : 0]
  }
}
