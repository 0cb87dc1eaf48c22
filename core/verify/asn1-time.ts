import { GeneralizedTime, UTCTime, type BaseBlock } from 'asn1js'

/** ASN.1 times. The text is parsed here, because asn1js accepts local times and dates that do not exist. */

const MAX_CHARACTERS = 64
const FORM = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})(?:\.(\d+))?Z$/

/**
 * ms since 1970 of a UTCTime or GeneralizedTime in UTC with seconds. A fraction is truncated to whole milliseconds. NaN
 * if it is malformed or no existing date.
 */
export function timeOf(block: BaseBlock | undefined): number {
  if (!(block instanceof UTCTime) || block.valueBlock.valueHexView.length > MAX_CHARACTERS) return NaN
  const text = String.fromCharCode(...block.valueBlock.valueHexView)
  // GeneralizedTime is a subclass. RFC 5280 § 4.1.2.5.1: a year of two digits is in 1950 to 2049.
  const isShort = !(block instanceof GeneralizedTime)
  const match = FORM.exec(isShort ? `${text < '50' ? '20' : '19'}${text}` : text)
  if (match === null) return NaN
  const [, year, month, day, hour, minute, second, fraction = ''] = match
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.padEnd(3, '0').slice(0, 3)}Z`
  const time = Date.parse(iso)
  return Number.isNaN(time) || new Date(time).toISOString() !== iso ? NaN : time
}
