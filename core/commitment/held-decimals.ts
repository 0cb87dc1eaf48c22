/** Digits that a double can show. */
const MAX_DIGITS = 17

/**
 * Whether printing the double with as many digits as the token has, at most 17, gives the same decimal again. So the
 * output of printers that use 17 digits is accepted.
 */
export function isHeldByDouble(token: string): boolean {
  const value = Number(token)
  if (String(value) === token) return true
  const { digits, exponent } = decimalOf(token)
  if (digits.length > MAX_DIGITS || !Number.isFinite(value)) return false
  if (digits === '') return true
  // Of two decimals that are equally near, the shortest form can be one, and the form with 17 digits the other.
  const printed = [value.toExponential(), value.toExponential(digits.length - 1)].map(decimalOf)
  return printed.some((decimal) => decimal.digits === digits && decimal.exponent === exponent)
}

const numberParts = /^([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/

/** The digits of a decimal without outer zeros, and the power of ten of the last one. */
function decimalOf(token: string): { readonly digits: string; readonly exponent: number } {
  const [, whole = '', fraction = '', exponent = '0'] = numberParts.exec(token) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = withoutTrailingZeros(digits)
  return {
    digits: significant,
    exponent: Number(exponent) - fraction.length + digits.length - significant.length,
  }
}

/** Uses a loop, because `/0+$/` takes quadratic time if the zeros are not at the end (80,000 digits: 2 s). */
function withoutTrailingZeros(digits: string): string {
  let end = digits.length
  while (end > 0 && digits[end - 1] === '0') end--
  return digits.slice(0, end)
}
