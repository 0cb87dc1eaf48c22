/** Digits that a double can show. */
const MAX_DIGITS = 17
/** A double holds every decimal with so many digits. */
const EXACT_DIGITS = 15
/** The digits of a decimal are read in two parts, because a double does not hold 17 of them. */
const HIGH_DIGITS = 9

/** Up to 10^44, two doubles hold a power of ten exactly. */
const EXACT_POWERS = 45
const POWERS_OF_TEN = Array.from({ length: EXACT_POWERS }, (_, power) => Number(`1e${power}`))
/** What the doubles in `POWERS_OF_TEN` lack. 0 up to 10^22. */
const POWER_RESTS = POWERS_OF_TEN.map((double, power) => Number(10n ** BigInt(power) - BigInt(double)))
/** If the unit of the last digit is between 10^-290 and 10^290, no double is too small or too large to be precise. */
const MAX_POWER = 290

/** How far a double may be from its decimal, in units of the last digit. Nearer to one half, rounding could decide. */
const MAX_DISTANCE = 0.499

const ZERO = 0x30
const POINT = 0x2e - ZERO
const MINUS = 0x2d
const PLUS = 0x2b
/** The upper-case letter; the other one has one bit more. */
const EXPONENT = 0x45
const LOWER_CASE_BIT = 0x20

/**
 * Reads the number token at `start`, which has no sign. Returns the index of the first character after it, if a double
 * certainly holds the number, and -1 if only `isHeldByDouble` can tell or the token is malformed.
 *
 * Printing a double takes as long as parsing it, so this calculates instead: a double is printed as the decimal if they
 * differ by less than half a unit of the decimal's last digit. The digits are read once, because that is most of the
 * work.
 */
export function endOfHeldNumber(text: string, start: number): number {
  const { length } = text
  let high = 0
  let low = 0
  let digits = 0
  let pointAt = -1
  let at = start
  for (; at < length && digits < HIGH_DIGITS; at++) {
    const digit = text.charCodeAt(at) - ZERO
    if (digit >= 0 && digit <= 9) {
      high = high * 10 + digit
      if (high !== 0) digits++
    } else if (digit === POINT) pointAt = at
    else break
  }
  if (digits === HIGH_DIGITS)
    for (; at < length; at++) {
      const digit = text.charCodeAt(at) - ZERO
      if (digit >= 0 && digit <= 9) {
        low = low * 10 + digit
        digits++
      } else if (digit === POINT) pointAt = at
      else break
    }
  if (digits > MAX_DIGITS) return -1
  const fractionDigits = pointAt < 0 ? 0 : at - 1 - pointAt
  let power = -fractionDigits
  if (at < length && (text.charCodeAt(at) & ~LOWER_CASE_BIT) === EXPONENT) {
    const sign = text.charCodeAt(at + 1)
    const exponentAt = sign === MINUS || sign === PLUS ? at + 2 : at + 1
    let exponent = 0
    for (at = exponentAt; at < length; at++) {
      const digit = text.charCodeAt(at) - ZERO
      if (digit < 0 || digit > 9) break
      exponent = exponent * 10 + digit
    }
    if (at === exponentAt) return -1
    power += sign === MINUS ? -exponent : exponent
  }
  if (digits <= EXACT_DIGITS) return Math.abs(power) <= MAX_POWER ? at : -1
  if (power > 0 || power <= -EXACT_POWERS) return -1
  return distance(high * (POWERS_OF_TEN[digits - HIGH_DIGITS] ?? 1), low, -power) < MAX_DISTANCE ? at : -1
}

/**
 * The distance of the decimal (high + low) / 10^power from the double next to it, in units of its last digit. All three
 * are integers, high + low has 16 or 17 digits, and low has at most 8. What rounding loses is added again.
 */
function distance(high: number, low: number, power: number): number {
  const scale = POWERS_OF_TEN[power] ?? NaN
  const scaleRest = POWER_RESTS[power] ?? NaN
  const sum = high + low
  const sumError = low - (sum - high)
  const quotient = sum / scale
  const remainder = sum - quotient * scale - productError(quotient, scale) - quotient * scaleRest + sumError
  const double = quotient + remainder / scale
  // Subtracts the large numbers first: their difference is exact, because they are almost equal.
  return Math.abs(high - double * scale + low - productError(double, scale) - double * scaleRest)
}

/** What `a * b` loses by rounding: `a * b + productError(a, b)` is exact (T. J. Dekker, 1971). */
function productError(a: number, b: number): number {
  const aHigh = upperHalf(a)
  const bHigh = upperHalf(b)
  const aLow = a - aHigh
  const bLow = b - bHigh
  return aLow * bLow - (a * b - aHigh * bHigh - aLow * bHigh - aHigh * bLow)
}

/** The upper 26 of the 53 bits of a double. */
function upperHalf(value: number): number {
  const shifted = value * (2 ** 27 + 1)
  return shifted - (shifted - value)
}
