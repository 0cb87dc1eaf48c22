import { encodeUtf8, fromBase64 } from '../bytes.ts'

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

/**
 * All values in bytes that are values in BER (X.690), the outer ones first. Only their heads are read. The
 * `end` of one without a length is that of the value around it. Ends with `undefined` if a value is cut off, longer
 * than the one around it, nested deeper than `maxDepth`, or has a tag of several bytes.
 */
export function* berValues(bytes: Uint8Array, maxDepth: number): Generator<DerValue | undefined> {
  const open = [{ end: bytes.length, hasLength: true }]
  let at = 0
  for (let around = open[0]; around !== undefined; around = open.at(-1)) {
    if (around.hasLength && at === around.end) {
      open.pop()
      continue
    }
    const tag = bytes[at] ?? 0
    const isConstructed = (tag & CONSTRUCTED) !== 0
    const hasLength = !isConstructed || bytes[at + 1] !== NO_LENGTH
    const value: DerValue | undefined = hasLength
      ? derAt(bytes, at, around.end)
      : { tag, at, start: at + 2, end: around.end }
    if (value === undefined || open.length > maxDepth || (~tag & LONG_TAG) === 0) {
      yield undefined
      return
    }
    yield value
    at = isConstructed ? value.start : value.end
    if (isConstructed) open.push({ end: value.end, hasLength })
    else if (!around.hasLength && tag === 0 && value.start === value.end) open.pop()
  }
}

const CONSTRUCTED = 0x20
const LONG_TAG = 0x1f
const NO_LENGTH = 0x80

/** The DER in a PEM text, which some issuers publish; other bytes as they are. */
export function derOfPem(bytes: Uint8Array): Uint8Array {
  const isPem = PEM_START.every((byte, i) => bytes[i] === byte)
  const [, base64 = ''] = isPem ? (PEM.exec(new TextDecoder('latin1').decode(bytes)) ?? []) : []
  return fromBase64(base64.replace(/\s/g, '') || '!') ?? bytes
}

const PEM_START = encodeUtf8('-----BEGIN ')
const PEM = /^-----BEGIN [A-Z0-9 ]+-----([A-Za-z0-9+/=\s]*)-----END /
