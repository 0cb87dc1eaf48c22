const BYTEA_OID = 17
const HEADER_BYTES = 20
const LENGTH_BYTES = 4

/**
 * Encodes a `bytea[]` in PostgreSQL's binary format (array_recv): number of dimensions, whether there are nulls, type
 * of the elements; number of elements, first index; then the length and bytes of each element. `pg` sends a Buffer as
 * binary, but an array of Buffers as hex text, which both sides would have to convert.
 */
export function byteaArray(elements: readonly Uint8Array[]): Buffer {
  const size = elements.reduce((sum, { length }) => sum + LENGTH_BYTES + length, HEADER_BYTES)
  const bytes = Buffer.allocUnsafe(size)
  let at = 0
  for (const field of [1, 0, BYTEA_OID, elements.length, 1]) at = bytes.writeInt32BE(field, at)
  for (const element of elements) {
    at = bytes.writeInt32BE(element.length, at)
    bytes.set(element, at)
    at += element.length
  }
  return bytes
}
