/** A value in DER (X.690): its first byte, and where its content begins and ends. */
export interface DerValue {
  readonly tag: number
  readonly start: number
  readonly end: number
}

/**
 * Reads the value at `at`, without reading what is in it: a list of a million values is read one after the other, in
 * constant memory. `undefined` if there is none that ends at `end` or before. Tags of several bytes are not supported.
 */
export function derAt(bytes: Uint8Array, at = 0, end = bytes.length): DerValue | undefined {
  const [tag = 0, first = 0x80] = bytes.subarray(at, Math.min(at + 2, end))
  const size = first & 0x7f
  if (first < 0x80) return at + 2 + size <= end ? { tag, start: at + 2, end: at + 2 + size } : undefined
  const start = at + 2 + size
  if (size === 0 || size > 4 || start > end) return undefined
  const length = bytes.subarray(at + 2, start).reduce((value, byte) => value * 256 + byte, 0)
  return start + length <= end ? { tag, start, end: start + length } : undefined
}
