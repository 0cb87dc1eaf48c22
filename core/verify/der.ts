import { verificationError } from '../errors.ts'

/** A value in DER (X.690): its first byte, where it begins, and where its content begins and ends. */
export interface DerValue {
  readonly tag: number
  readonly at: number
  readonly start: number
  readonly end: number
}

/**
 * Reads the value at `at`, but not what is in it. `undefined` if none ends at `end` or before. Tags of several bytes
 * are not supported.
 */
export function derAt(bytes: Uint8Array, at = 0, end = bytes.length): DerValue | undefined {
  const [tag, first] = [bytes[at] ?? 0, bytes[at + 1] ?? 0x80]
  const size = first < 0x80 ? 0 : first & 0x7f
  const start = at + 2 + size
  if (first === 0x80 || size > 4 || start > end) return undefined
  let length = first < 0x80 ? first : 0
  for (let i = at + 2; i < start; i++) length = length * 256 + (bytes[i] ?? 0)
  return start + length <= end ? { tag, at, start, end: start + length } : undefined
}

/** The values in a value, one after the other: a list of a million is read in passing. Throws `VERIFICATION_FAILED`. */
export function* derIn(bytes: Uint8Array, { start, end }: Pick<DerValue, 'start' | 'end'>): Generator<DerValue> {
  for (let at = start; at < end;) {
    const value = derAt(bytes, at, end)
    if (value === undefined) throw verificationError('timestamp.malformed', `There is no DER value at byte ${at}`)
    yield value
    at = value.end
  }
}
