import { concatBytes, encodeUtf8 } from './kit/index.ts'

/**
 * Writes the DER (X.690) that certificates, timestamp responses and queries need. The output is canonical, because
 * signed bytes must have exactly one encoding. Parsing uses another library (asn1js), so that it finds a mistake made
 * here.
 */

/** One value: tag, length in as few bytes as possible, contents. */
function tlv(tag: number, ...contents: readonly Uint8Array[]): Uint8Array {
  const body = concatBytes(...contents)
  return concatBytes(Uint8Array.of(tag, ...lengthBytes(body.length)), body)
}

function lengthBytes(length: number): readonly number[] {
  if (length < 0x80) return [length]
  const bytes: number[] = []
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256)
  return [0x80 | bytes.length, ...bytes]
}

/** SEQUENCE of encoded values. */
export const sequence = (...values: readonly Uint8Array[]): Uint8Array => tlv(0x30, ...values)

/** SET OF encoded values, sorted by their encodings (X.690 § 11.6). */
export const setOf = (...values: readonly Uint8Array[]): Uint8Array => tlv(0x31, ...sorted(values))

/** [tag] IMPLICIT SET OF encoded values. */
export const implicitSetOf = (tag: number, ...values: readonly Uint8Array[]): Uint8Array =>
  tlv(0xa0 | tag, ...sorted(values))

const sorted = (values: readonly Uint8Array[]): readonly Uint8Array[] => values.toSorted((a, b) => Buffer.compare(a, b))

/** [tag] EXPLICIT over a value, or [tag] IMPLICIT over the contents of a constructed type. */
export const constructed = (tag: number, value: Uint8Array): Uint8Array => tlv(0xa0 | tag, value)

/** [tag] IMPLICIT over the contents of a primitive type. */
export const implicit = (tag: number, contents: Uint8Array): Uint8Array => tlv(0x80 | tag, contents)

/** BOOLEAN. */
export const boolean = (value: boolean): Uint8Array => tlv(0x01, Uint8Array.of(value ? 0xff : 0))

/** Non-negative INTEGER from its big-endian magnitude. */
export function integer(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte !== 0)
  const magnitude = first === -1 ? Uint8Array.of(0) : bytes.subarray(first)
  return tlv(0x02, (magnitude[0] ?? 0) & 0x80 ? Uint8Array.of(0) : new Uint8Array(), magnitude)
}

/** Non-negative INTEGER. Requires value < 256. */
export const smallInteger = (value: number): Uint8Array => integer(Uint8Array.of(value))

/** BIT STRING. `unusedBits` at the end of the last byte do not belong to it. */
export const bitString = (bytes: Uint8Array, unusedBits = 0): Uint8Array => tlv(0x03, Uint8Array.of(unusedBits), bytes)

/** OCTET STRING. */
export const octetString = (bytes: Uint8Array): Uint8Array => tlv(0x04, bytes)

/** UTF8String. */
export const utf8String = (text: string): Uint8Array => tlv(0x0c, encodeUtf8(text))

/** OBJECT IDENTIFIER from its dotted text, for example `2.5.29.15`. */
export function objectIdentifier(dotted: string): Uint8Array {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return tlv(0x06, ...[first * 40 + second, ...rest].map(base128))
}

function base128(arc: number): Uint8Array {
  const bytes = [arc % 128]
  for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift(0x80 | (rest % 128))
  return Uint8Array.from(bytes)
}

/** A time (ms since 1970) as `YYYYMMDDHHMMSS` and three digits of milliseconds. */
function timeParts(time: number): { readonly seconds: string; readonly milliseconds: string } {
  const iso = new Date(time).toISOString()
  if (iso.length !== 24) throw new RangeError(`The time must be in the years 0 to 9999, got ${iso}`)
  return { seconds: iso.slice(0, 19).replace(/[-T:]/g, ''), milliseconds: iso.slice(20, 23) }
}

/** GeneralizedTime of a time in ms since 1970. The fraction has no trailing zeros (RFC 3161 § 2.4.2). */
export function generalizedTime(time: number): Uint8Array {
  const { seconds, milliseconds } = timeParts(time)
  const fraction = milliseconds.replace(/0+$/, '')
  return tlv(0x18, encodeUtf8(`${seconds}${fraction && `.${fraction}`}Z`))
}

/** Time in a certificate, from ms since 1970: UTCTime in 1950 to 2049, else GeneralizedTime (RFC 5280 § 4.1.2.5). */
export function certificateTime(time: number): Uint8Array {
  const { seconds } = timeParts(time)
  const year = Number(seconds.slice(0, 4))
  return year >= 1950 && year < 2050
    ? tlv(0x17, encodeUtf8(`${seconds.slice(2)}Z`))
    : tlv(0x18, encodeUtf8(`${seconds}Z`))
}
