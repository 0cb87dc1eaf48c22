/** Digits that a double can show. */
const MAX_DIGITS = 17
/** A double holds every decimal with so many digits. */
const EXACT_DIGITS = 15
/** The digits of a decimal are read in two parts, because a double does not hold 17 of them. */
const HIGH_DIGITS = 9

/** The powers of ten that a double holds exactly. */
const POWERS_OF_TEN = Array.from({ length: 23 }, (_, power) => Number(`1e${power}`))

/** How far a double may be from its decimal, in units of the last digit. Nearer to one half, rounding could decide. */
const MAX_DISTANCE = 0.499

/** The character before it in a number token is the decimal point. */
const ZERO = 0x30

/**
 * Whether a double certainly holds the decimal at `text[start..end)`, which has no exponent. False if only
 * `isHeldByDouble` can tell.
 *
 * Printing a double takes as long as parsing it, so this calculates instead: a double is printed as the decimal if they
 * differ by less than half a unit of the decimal's last digit.
 */
export function isCertainlyHeld(text: string, start: number, end: number): boolean {
  let high = 0
  let low = 0
  let digits = 0
  let pointAt = end - 1
  for (let i = start; i < end; i++) {
    const digit = text.charCodeAt(i) - ZERO
    if (digit < 0) pointAt = i
    else if (digits < HIGH_DIGITS) {
      high = high * 10 + digit
      if (high > 0) digits++
    } else {
      low = low * 10 + digit
      if (++digits > MAX_DIGITS) return false
    }
  }
  const scale = POWERS_OF_TEN[end - 1 - pointAt]
  if (scale === undefined) return false
  return (
    digits <= EXACT_DIGITS || distance(high * (POWERS_OF_TEN[digits - HIGH_DIGITS] ?? 1), low, scale) < MAX_DISTANCE
  )
}

/**
 * The distance of the decimal (high + low) / scale from the double next to it, in units of its last digit. All three
 * are integers, high + low has 16 or 17 digits, and low has at most 8. What rounding loses is added again.
 */
function distance(high: number, low: number, scale: number): number {
  const sum = high + low
  const sumError = low - (sum - high)
  const quotient = sum / scale
  const remainder = sum - quotient * scale - productError(quotient, scale) + sumError
  const double = quotient + remainder / scale
  // Subtracts the large numbers first: their difference is exact, because they are almost equal.
  return Math.abs(high - double * scale + low - productError(double, scale))
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
