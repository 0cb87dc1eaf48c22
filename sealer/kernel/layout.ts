import { INITIAL_STATE, messageSchedule, ROUND_CONSTANTS } from './sha256.ts'

/** The layout of the kernel's memory: tables, scratch memory, then the workspace for inputs and outputs. */

/** Messages that are hashed in parallel. */
export const LANES = 4
const WORD_BYTES = 4
const VECTOR_BYTES = LANES * WORD_BYTES

/**
 * Offsets of tables are relative to `TABLES_AT`. K, each word in all four lanes: an add from memory costs less than a
 * splat.
 */
export const ROUND_CONSTANTS_AT = 0
/** H(0), each word in all four lanes. */
export const INITIAL_STATE_AT = ROUND_CONSTANTS_AT + 64 * VECTOR_BYTES
/**
 * A node's message has 65 = 64 + 1 bytes. Its second block depends on a single byte, the last of the right child, so
 * the whole message schedule is looked up: 256 rows of 64 words W + K.
 */
export const LAST_BLOCKS_AT = INITIAL_STATE_AT + 8 * VECTOR_BYTES
export const LAST_BLOCK_ROW_BYTES = 64 * WORD_BYTES

/** 66,688. */
const TABLE_BYTES = LAST_BLOCKS_AT + 256 * LAST_BLOCK_ROW_BYTES

/** Offsets relative to `SCRATCH_AT`: the inputs of an incomplete group (and one byte before them), then its output. */
export const SCRATCH_INPUT_AT = 16
export const SCRATCH_OUTPUT_AT = SCRATCH_INPUT_AT + LANES * 64
const SCRATCH_BYTES = SCRATCH_OUTPUT_AT + LANES * 32

/** Where the tables start. */
export const TABLES_AT = 64
export const SCRATCH_AT = TABLES_AT + TABLE_BYTES
/** The workspace starts here. A multiple of 64. */
export const WORKSPACE_AT = Math.ceil((SCRATCH_AT + SCRATCH_BYTES) / 64) * 64

/** A page of WebAssembly memory. */
export const PAGE_BYTES = 65_536
/** The largest memory, 2 GiB. */
export const MAX_PAGES = 32_768

/** Bits of a node's message: the prefix and two hashes. */
const NODE_BITS = 8 * 65

/** Writes the tables into the kernel's memory. */
export function writeTables(buffer: ArrayBuffer): void {
  const words = new Uint32Array(buffer, TABLES_AT, TABLE_BYTES / WORD_BYTES)
  const splat = (value: number, index: number, from: number): void => {
    const start = from / WORD_BYTES + index * LANES
    words.fill(value, start, start + LANES)
  }
  ROUND_CONSTANTS.forEach((k, t) => splat(k, t, ROUND_CONSTANTS_AT))
  INITIAL_STATE.forEach((h, i) => splat(h, i, INITIAL_STATE_AT))
  for (let byte = 0; byte < 256; byte++) {
    const row = words.subarray((LAST_BLOCKS_AT + byte * LAST_BLOCK_ROW_BYTES) / WORD_BYTES)
    lastBlockSchedule(byte).forEach((w, t) => (row[t] = w + (ROUND_CONSTANTS[t] ?? 0)))
  }
}

/** The message schedule W of the block with a node's last byte, the padding's 1 bit and the length. */
function lastBlockSchedule(lastByte: number): Uint32Array {
  const block = Array.from({ length: 16 }, () => 0)
  block[0] = (lastByte << 24) | 0x80_00_00
  block[15] = NODE_BITS
  return messageSchedule(block)
}
