import { concatBytes, encodeUtf8 } from '../../core/bytes.ts'

/**
 * Just enough DER (X.690) to write certificates and timestamp responses: strictly canonical, because what is signed must have
 * one encoding. Reading is core/verify's business, with another library, so that a mistake here is found there.
 */

/** One value: tag, length in the fewest bytes, contents. */
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

export const sequence = (...values: readonly Uint8Array[]): Uint8Array => tlv(0x30, ...values)

/** SET OF: DER sorts the encodings (X.690 § 11.6). */
export const setOf = (...values: readonly Uint8Array[]): Uint8Array => tlv(0x31, ...sorted(values))

/** [tag] IMPLICIT SET OF. */
export const implicitSetOf = (tag: number, ...values: readonly Uint8Array[]): Uint8Array =>
  tlv(0xa0 | tag, ...sorted(values))

const sorted = (values: readonly Uint8Array[]): readonly Uint8Array[] => values.toSorted((a, b) => Buffer.compare(a, b))

/** [tag] EXPLICIT, or IMPLICIT over a constructed type's contents. */
export const constructed = (tag: number, value: Uint8Array): Uint8Array => tlv(0xa0 | tag, value)

/** [tag] IMPLICIT over a primitive type. */
export const implicit = (tag: number, contents: Uint8Array): Uint8Array => tlv(0x80 | tag, contents)

export const boolean = (value: boolean): Uint8Array => tlv(0x01, Uint8Array.of(value ? 0xff : 0))

/** INTEGER of the unsigned big-endian `bytes`. */
export function integer(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte !== 0)
  const magnitude = first === -1 ? Uint8Array.of(0) : bytes.subarray(first)
  return tlv(0x02, (magnitude[0] ?? 0) & 0x80 ? Uint8Array.of(0) : new Uint8Array(), magnitude)
}

export const smallInteger = (value: number): Uint8Array => integer(Uint8Array.of(value))

/** BIT STRING of whole bytes less `unusedBits` at the end. */
export const bitString = (bytes: Uint8Array, unusedBits = 0): Uint8Array => tlv(0x03, Uint8Array.of(unusedBits), bytes)

export const octetString = (bytes: Uint8Array): Uint8Array => tlv(0x04, bytes)

export const utf8String = (text: string): Uint8Array => tlv(0x0c, encodeUtf8(text))

/** OBJECT IDENTIFIER of a dotted text. */
export function objectIdentifier(dotted: string): Uint8Array {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return tlv(0x06, ...[first * 40 + second, ...rest].map(base128))
}

function base128(arc: number): Uint8Array {
  const bytes = [arc % 128]
  for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift(0x80 | (rest % 128))
  return Uint8Array.from(bytes)
}

/** `YYYYMMDDHHMMSS` and the milliseconds of a time in ms since 1970. */
function timeParts(time: number): { readonly seconds: string; readonly milliseconds: string } {
  const iso = new Date(time).toISOString()
  if (iso.length !== 24) throw new RangeError(`The time ${iso} is beyond the year 9999`)
  return { seconds: iso.slice(0, 19).replace(/[-T:]/g, ''), milliseconds: iso.slice(20, 23) }
}

/** GeneralizedTime with the fraction that the time has: no trailing zeros (RFC 3161 § 2.4.2). */
export function generalizedTime(time: number): Uint8Array {
  const { seconds, milliseconds } = timeParts(time)
  const fraction = milliseconds.replace(/0+$/, '')
  return tlv(0x18, encodeUtf8(`${seconds}${fraction && `.${fraction}`}Z`))
}

/** Time of a certificate, in whole seconds: UTCTime until 2049, GeneralizedTime from 2050 (RFC 5280 § 4.1.2.5). */
export function certificateTime(time: number): Uint8Array {
  const { seconds } = timeParts(time)
  const year = Number(seconds.slice(0, 4))
  return year >= 1950 && year < 2050
    ? tlv(0x17, encodeUtf8(`${seconds.slice(2)}Z`))
    : tlv(0x18, encodeUtf8(`${seconds}Z`))
}
