import { sha256 } from '../../bytes.ts'

/**
 * The hashes of RFC 9162 § 2.1.1 (the same as RFC 6962 § 2.1). Leaves and inner nodes are hashed under different first
 * bytes, so that a node cannot be presented as a leaf, or a leaf as a node.
 */

/** Bytes of every hash. */
export const HASH_BYTES = 32

// Reused, because allocating is slower than hashing. Nothing here is asynchronous, so two calls never share a buffer.
const leafInput = new Uint8Array(1 + HASH_BYTES)
const nodeInput = new Uint8Array(1 + 2 * HASH_BYTES).fill(0x01, 0, 1)

/** The hash of a leaf: SHA-256(00 ‖ entry), 32 bytes. The entry may have any length. */
export function leafHash(entry: Uint8Array): Uint8Array {
  const input = entry.length === HASH_BYTES ? leafInput : new Uint8Array(1 + entry.length)
  input.set(entry, 1)
  return sha256(input)
}

/** The hash of an inner node: SHA-256(01 ‖ left ‖ right), 32 bytes. Throws a `RangeError` unless both have 32 bytes. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  if (left.length !== HASH_BYTES || right.length !== HASH_BYTES)
    throw new RangeError(`A node has two hashes of ${HASH_BYTES} bytes`)
  nodeInput.set(left, 1)
  nodeInput.set(right, 1 + HASH_BYTES)
  return sha256(nodeInput)
}

/** The root of the tree without leaves: SHA-256 of no bytes. */
export const emptyRoot = (): Uint8Array => sha256(new Uint8Array())
