import { sha256 } from '../../bytes.ts'

/** RFC 6962 § 2.1 and RFC 9162 § 2.1.1: leaves and inner nodes hash under different first bytes, so neither passes for the other. */

export const HASH_BYTES = 32

// One scratch of each kind: nothing here is asynchronous, so none is ever used twice at a time.
const leafInput = new Uint8Array(1 + HASH_BYTES)
const nodeInput = new Uint8Array(1 + 2 * HASH_BYTES).fill(0x01, 0, 1)

/** H(00 ‖ entry), 32 bytes. The log's entries have 32 bytes; the RFC allows any length. */
export function leafHash(entry: Uint8Array): Uint8Array {
  const input = entry.length === HASH_BYTES ? leafInput : new Uint8Array(1 + entry.length)
  input.set(entry, 1)
  return sha256(input)
}

/** H(01 ‖ left ‖ right), 32 bytes. Requires two hashes of 32 bytes. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  if (left.length !== HASH_BYTES || right.length !== HASH_BYTES)
    throw new RangeError('A node is made of two hashes of 32 bytes')
  nodeInput.set(left, 1)
  nodeInput.set(right, 1 + HASH_BYTES)
  return sha256(nodeInput)
}

/** The root of the tree without leaves: the hash of nothing. */
export const emptyRoot = (): Uint8Array => sha256(new Uint8Array())
