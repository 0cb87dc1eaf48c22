import { Constructed, fromBER, GeneralizedTime, Sequence, Set as AsnSet, UTCTime, type BaseBlock } from 'asn1js'
import { isRegistryError, verificationError } from '../../errors.ts'

/**
 * Reads ASN.1 with asn1js, which limits the depth and the number of values. The input may be an attacker's: the caller
 * limits its length.
 */

/** Parses exactly one BER value. Throws `VERIFICATION_FAILED`; `what` names the input in the message. */
export function parseAsn1(bytes: Uint8Array, what: string): BaseBlock {
  // A copy, because asn1js keeps views of its input.
  const { offset, result } = fromBER(bytes.slice())
  if (offset === -1) throw verificationError(`${what} is not ASN.1: ${result.error}`)
  if (offset !== bytes.length) throw verificationError(`${what} is followed by ${bytes.length - offset} more bytes`)
  return result
}

/** The values inside a constructed value. Empty for a primitive value and for `undefined`. */
export function childrenOf(block: BaseBlock | undefined): readonly BaseBlock[] {
  return block instanceof Sequence || block instanceof AsnSet || block instanceof Constructed
    ? block.valueBlock.value
    : []
}

/**
 * Returns the result of `parse`. The parsers throw errors of many kinds for malformed input: each becomes
 * `VERIFICATION_FAILED`.
 */
export function withParserErrors<T>(what: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw isRegistryError(error) ? error : verificationError(`${what} is malformed`, error)
  }
}

// -- times. The text is parsed here, because asn1js accepts local times and dates that do not exist.

const MAX_TIME_CHARACTERS = 64
const TIME_FORM = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})(?:\.(\d+))?Z$/

/**
 * ms since 1970 of a UTCTime or GeneralizedTime in UTC with seconds. A fraction is truncated to whole milliseconds. NaN
 * if it is malformed or no existing date.
 */
export function timeOf(block: BaseBlock | undefined): number {
  if (!(block instanceof UTCTime) || block.valueBlock.valueHexView.length > MAX_TIME_CHARACTERS) return NaN
  const text = String.fromCharCode(...block.valueBlock.valueHexView)
  // GeneralizedTime is a subclass. RFC 5280 § 4.1.2.5.1: a year of two digits is in 1950 to 2049.
  const isShort = !(block instanceof GeneralizedTime)
  const match = TIME_FORM.exec(isShort ? `${text < '50' ? '20' : '19'}${text}` : text)
  if (match === null) return NaN
  const [, year, month, day, hour, minute, second, fraction = ''] = match
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.padEnd(3, '0').slice(0, 3)}Z`
  const time = Date.parse(iso)
  return Number.isNaN(time) || new Date(time).toISOString() !== iso ? NaN : time
}
