const MIN = -(2n ** 63n)
const MAX = 2n ** 63n - 1n

/** A counter's value as a record store keeps it: 8 bytes big-endian, two's complement. Throws a RangeError beyond 64 bits. */
export function encodeCounter(value: bigint): Uint8Array {
  if (value < MIN || value > MAX) throw new RangeError(`a counter has 64 bits, ${value} does not fit`)
  const out = new Uint8Array(8)
  new DataView(out.buffer).setBigInt64(0, value)
  return out
}

/** The inverse of `encodeCounter`. Throws a RangeError for anything but 8 bytes. */
export function decodeCounter(bytes: Uint8Array): bigint {
  if (bytes.length !== 8) throw new RangeError(`a counter has 8 bytes, not ${bytes.length}`)
  return new DataView(bytes.buffer, bytes.byteOffset).getBigInt64(0)
}

/** A counter's entry as a number, 0 where there is none. Throws a RangeError beyond the safe integers. */
export function countOf(entry: { readonly value: Uint8Array } | undefined): number {
  if (entry === undefined) return 0
  const count = Number(decodeCounter(entry.value))
  if (!Number.isSafeInteger(count)) throw new RangeError('the counter is beyond the safe integers')
  return count
}
