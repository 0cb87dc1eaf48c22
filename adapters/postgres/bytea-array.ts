const BYTEA_OID = 17
const HEADER_BYTES = 20
const LENGTH_BYTES = 4

/**
 * A `bytea[]` as PostgreSQL's binary format has it (array_recv): number of dimensions, whether there are nulls, type of the elements;
 * number of elements, first index; then each element's length and bytes. `pg` sends a Buffer as binary, and an array of them as text
 * in hex: this spares both sides that.
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
