import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { isHeldByDouble, parseStrictJson } from '../../../core/commitment/strict-json.ts'
import { isRegistryError } from '../../../core/errors.ts'
import { referenceStrictJson } from '../../support/strict-json-reference.ts'

/** A decimal with these digits, of which the last `fractionDigits` are after the point. */
function decimalText(digits: bigint, fractionDigits: number): string {
  const text = String(digits).padStart(fractionDigits + 1, '0')
  const point = text.length - fractionDigits
  return fractionDigits === 0 ? text : `${text.slice(0, point)}.${text.slice(point)}`
}

const fractionDigits = fc.nat(26)
/** Among them exponents of numbers that are too small or too large for a double. */
const exponentText = fc
  .tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), fc.oneof(fc.nat(50), fc.nat(350)))
  .map(([mark, sign, exponent]) => `${mark}${sign}${exponent}`)
/** Decimals of any length, among them those between two doubles. */
const plainDecimal = fc
  .tuple(fc.integer({ min: 1, max: 19 }), fc.bigInt(0n, 10n ** 19n), fractionDigits)
  .map(([length, digits, fraction]) => decimalText(digits % 10n ** BigInt(length), fraction))
const anyDecimal = fc
  .tuple(plainDecimal, fc.oneof(fc.constant(''), exponentText))
  .map(([decimal, exponent]) => `${decimal}${exponent}`)
/** What printers write with 15 to 18 digits, and decimals that differ from it in the last digits. */
const printedDecimal = fc
  .tuple(
    fc.double({ min: 1e-5, max: 1e17, noNaN: true }),
    fc.integer({ min: 15, max: 18 }),
    fc.integer({ min: -3, max: 3 }),
  )
  .map(([value, digits, change]) => {
    const [mantissa = '', exponent = '0'] = value.toExponential(digits - 1).split('e')
    const fraction = digits - 1 - Number(exponent)
    return fraction < 0 ? '0' : decimalText(BigInt(mantissa.replace('.', '')) + BigInt(change), fraction)
  })

/** The same with an exponent, and with a digit before the point. */
const printedWithExponent = fc
  .tuple(
    fc.oneof(
      fc.double({ min: 1e-30, max: 1, noNaN: true }),
      fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
    ),
    fc.integer({ min: 13, max: 18 }),
    fc.integer({ min: -3, max: 3 }),
  )
  .map(([value, digits, change]) => {
    const [mantissa = '', exponent = '0'] = value.toExponential(digits - 1).split('e')
    const changed = String(BigInt(mantissa.replace('.', '')) + BigInt(change)).replace('-', '')
    return `${changed.slice(0, 1)}.${changed.slice(1).padStart(1, '0')}e${exponent}`
  })
const tokens = fc.oneof(anyDecimal, printedDecimal, printedWithExponent)

describe('decimals that a double holds', () => {
  it('are those that a slow reference accepts', () => {
    fc.assert(
      fc.property(tokens, (token) => {
        assert.equal(isAccepted(parseStrictJson, token), isAccepted(referenceStrictJson, token), token)
      }),
      { numRuns: 15_000 },
    )
  })

  it('are those that integer arithmetic accepts, with 14 to 17 digits and any exponent', () => {
    fc.assert(
      fc.property(fc.bigInt(10n ** 13n, 10n ** 17n - 1n), fc.integer({ min: -60, max: 20 }), (digits, exponent) => {
        const isHeld = isHeldExactly(digits, exponent)
        fc.pre(isHeld !== undefined)
        const plain = String(digits)
        for (const token of [
          `${plain}e${exponent}`,
          `${plain[0]}.${plain.slice(1)}E${exponent + plain.length - 1}`,
          `${plain.slice(0, 9)}.${plain.slice(9)}e${exponent + plain.length - 9}`,
        ])
          assert.equal(isAccepted(parseStrictJson, token), isHeld, token)
      }),
      { numRuns: 30_000 },
    )
  })

  const examples: readonly [string, boolean][] = [
    ['0.1', true],
    ['0.10000000000000001', true],
    ['52.520006599999995', true],
    ['52.520006599999997', false],
    ['9007199254740993', false],
    ['0.00000000000000000000012', true],
    ['0.00000000000000000000010000000000000001', false],
    ['1.5E+7', true],
    ['1.2345678901234561e-7', true],
    ['1.2345678901234567e-7', false],
    ['12345678901234567e-40', true],
    ['5e-324', true],
    ['1e400', false],
    ['123456789012345678', false],
  ]
  for (const [token, expected] of examples)
    it(`${expected ? 'include' : 'do not include'} ${token}`, () => assert.equal(isHeldByDouble(token), expected))
})

function isAccepted(parse: (text: string) => unknown, token: string): boolean {
  try {
    parse(token)
    return true
  } catch (error) {
    assert.ok(isRegistryError(error, 'VALIDATION_ERROR'), String(error))
    return false
  }
}

/**
 * Whether the registry accepts the number `digits * 10^exponent`: the nearest double differs from it by less than half
 * a unit of its last digit that is not zero. `undefined` if it is exactly half.
 */
function isHeldExactly(digits: bigint, exponent: number): boolean | undefined {
  if (digits % 10n === 0n) return isHeldExactly(digits / 10n, exponent + 1)
  const value = Number(`${digits}e${exponent}`)
  const { numerator, twos } = partsOf(value)
  // Everything times 10^60 * 2^1100, so that all numbers are integers.
  const scale = 10n ** 60n * 2n ** 1100n
  const unit = exponent < 0 ? scale / 10n ** BigInt(-exponent) : scale * 10n ** BigInt(exponent)
  const double = (numerator * scale) / 2n ** twos
  const difference = digits * unit - double
  const twice = 2n * (difference < 0n ? -difference : difference)
  return twice === unit ? undefined : twice < unit
}

/** A finite double as an integer divided by a power of two. */
function partsOf(value: number): { readonly numerator: bigint; readonly twos: bigint } {
  let [scaled, twos] = [value, 0n]
  for (; !Number.isInteger(scaled); twos++) scaled *= 2
  return { numerator: BigInt(scaled), twos }
}
