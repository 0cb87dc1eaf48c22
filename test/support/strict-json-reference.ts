import { RegistryError } from '../../core/errors.ts'
import type { Json } from '../../core/commitment/canonical-json.ts'

/** The strict rules of JSON input, written down character by character: slow, only for comparison. RFC 8259. */
export function referenceStrictJson(text: string): Json {
  let at = 0
  const fail = (): never => {
    throw new RegistryError('VALIDATION_ERROR', `Rejected at ${at}`)
  }
  const skipSpace = (): void => {
    while (at < text.length && ' \t\n\r'.includes(text.charAt(at))) at++
  }
  const accept = (token: string): boolean => {
    skipSpace()
    if (!text.startsWith(token, at)) return false
    at += token.length
    return true
  }
  const expect = (token: string): void => {
    if (!accept(token)) fail()
  }
  const match = (pattern: RegExp): string => {
    skipSpace()
    const [token] = new RegExp(pattern, `y${pattern.flags}`)[Symbol.match](text.slice(at)) ?? []
    if (token === undefined) return fail()
    at += token.length
    return token
  }
  const string = (): string => {
    const token = match(/"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/u)
    const value: unknown = JSON.parse(token)
    return typeof value === 'string' && value.isWellFormed() ? value : fail()
  }
  const number = (): number => {
    const token = match(/-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/)
    const value = Number(token)
    if (!Number.isFinite(value) || Object.is(value, -0)) return fail()
    if (/^-?\d+$/.test(token)) return Number.isSafeInteger(value) ? value : fail()
    const digits = token
      .replace(/[eE].*/, '')
      .replaceAll(/[-.]/g, '')
      .replace(/^0+/, '')
      .replace(/0+$/, '').length
    const printed = value.toExponential(Math.min(17, Math.max(1, digits)) - 1)
    const isHeld = isSameDecimal(token, printed) || isSameDecimal(token, String(value))
    return digits <= 17 && isHeld ? value : fail()
  }
  const value = (depth: number): Json => {
    if (depth > 64) return fail()
    if (accept('null')) return null
    if (accept('true')) return true
    if (accept('false')) return false
    skipSpace()
    if (text[at] === '"') return string()
    if (accept('[')) return array(depth)
    return accept('{') ? object(depth) : number()
  }
  const array = (depth: number): Json => {
    const items: Json[] = []
    if (accept(']')) return depth < 64 ? items : fail()
    if (depth >= 64) return fail()
    do items.push(value(depth + 1))
    while (accept(','))
    expect(']')
    return items
  }
  const object = (depth: number): Json => {
    const members = new Map<string, Json>()
    if (depth >= 64) return fail()
    if (accept('}')) return {}
    do {
      skipSpace()
      const name = string()
      if (name === '__proto__' || members.has(name)) return fail()
      expect(':')
      members.set(name, value(depth + 1))
    } while (accept(','))
    expect('}')
    return Object.fromEntries(members)
  }
  const parsed = value(0)
  skipSpace()
  return at === text.length ? parsed : fail()
}

/** Compares two decimals exactly, as integers times powers of ten. */
function isSameDecimal(a: string, b: string): boolean {
  const [left, right] = [decimalOf(a), decimalOf(b)]
  const exponent = Math.min(left.exponent, right.exponent)
  // A difference of thousands of digits would take long, and means another number unless both are zero.
  if (Math.max(left.exponent, right.exponent) - exponent > 2_000) return left.digits === 0n && right.digits === 0n
  const scaled = ({ digits, exponent: own }: Decimal): bigint => digits * 10n ** BigInt(own - exponent)
  return scaled(left) === scaled(right)
}

interface Decimal {
  readonly digits: bigint
  readonly exponent: number
}

function decimalOf(token: string): Decimal {
  const [mantissa = '0', exponent = '0'] = token.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length }
}
