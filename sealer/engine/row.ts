import { HASH_BYTES } from '../../core/log/tree/hasher.ts'

/** Hashes in a packed row. Throws a RangeError where it is not made of 32-byte pieces. */
export function hashCount(row: Uint8Array): number {
  if (row.length % HASH_BYTES !== 0)
    throw new RangeError(`A row is made of ${HASH_BYTES}-byte hashes, not of ${row.length} bytes`)
  return row.length / HASH_BYTES
}
