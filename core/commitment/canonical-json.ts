import { RegistryError } from '../errors.ts'

/**
 * Canonical JSON (RFC 8785), strictly: a value that it cannot represent exactly is rejected, not changed. Keys are
 * sorted by UTF-16 code unit, also keys that look like integers.
 */

/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/** The deepest allowed nesting of arrays and objects. A value that is neither has depth 0. */
export const MAX_DEPTH = 64

export interface JsonLimits {
  /** The deepest allowed nesting of arrays and objects. Default: `MAX_DEPTH`. */
  readonly maxDepth?: number
}

const validationError = (why: string): RegistryError => new RegistryError('VALIDATION_ERROR', why)

/**
 * Writes a value as canonical JSON.
 *
 * @throws `VALIDATION_ERROR` for lone surrogates, integers beyond 2^53 - 1, -0, NaN and infinities, `undefined`, values
 * that are not plain JSON values, the key `__proto__`, and nesting that is too deep.
 * @example
 * canonicalJson({ b: 1, a: [true] }) // '{"a":[true],"b":1}'
 */
export const canonicalJson = (value: unknown, { maxDepth = MAX_DEPTH }: JsonLimits = {}): string =>
  textOf(value, maxDepth)

function textOf(value: unknown, maxDepth: number): string {
  switch (typeof value) {
    case 'string':
      return quoted(value)
    case 'number':
      checkNumber(value)
      return String(value)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      if (value === null) return 'null'
      if (maxDepth === 0) throw validationError('A value is nested too deeply')
      return Array.isArray(value) ? arrayText(value, maxDepth - 1) : objectText(value, maxDepth - 1)
    default:
      throw validationError(`A value of type ${typeof value} cannot be written as JSON`)
  }
}

/** Printable ASCII without quote and backslash, which is written as it is. */
const plain = /^[ !#-[\]-~]*$/

/** The first test takes half the time of `isWellFormed` and `JSON.stringify`. Most texts and all names pass it. */
function quoted(text: string): string {
  if (plain.test(text)) return `"${text}"`
  if (!text.isWellFormed()) throw validationError('A text contains a lone surrogate, which cannot be written in UTF-8')
  return JSON.stringify(text)
}

function arrayText(array: readonly unknown[], maxDepth: number): string {
  let out = '['
  for (let i = 0; i < array.length; i++) out += (i === 0 ? '' : ',') + textOf(array[i], maxDepth)
  return out + ']'
}

function objectText(object: object, maxDepth: number): string {
  const prototype: unknown = Object.getPrototypeOf(object)
  if (prototype !== Object.prototype && prototype !== null)
    throw validationError('Only plain objects can be written as JSON')
  let out = '{'
  // The default sort order is by UTF-16 code unit, as RFC 8785 § 3.2.3 requires.
  for (const name of Object.keys(object).sort()) {
    if (name === '__proto__') throw validationError('The key __proto__ is not allowed')
    const text = textOf((object as Record<string, unknown>)[name], maxDepth)
    out += `${out === '{' ? '' : ','}${quoted(name)}:${text}`
  }
  return out + '}'
}

function checkNumber(value: number): void {
  if (!Number.isFinite(value)) throw validationError('NaN and infinities cannot be written as JSON')
  if (Object.is(value, -0)) throw validationError('-0 is not allowed, because canonical JSON changes it to 0')
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw validationError('An integer must not exceed 2^53 - 1: send it as a text')
}

/**
 * Parses JSON that may come from an attacker. The text is also scanned token by token, because `JSON.parse` silently
 * merges duplicate keys and rounds numbers.
 *
 * @throws `VALIDATION_ERROR` if the text is not JSON (then its `cause` is a `SyntaxError`), or if canonical JSON cannot
 * represent it exactly: duplicate keys, integers beyond 2^53 - 1, decimals that do not round-trip, -0, lone surrogates,
 * the key `__proto__`, nesting that is too deep.
 */
export function parseStrictJson(text: string, { maxDepth = MAX_DEPTH }: JsonLimits = {}): Json {
  checkDepth(text, maxDepth)
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch (cause) {
    throw new RegistryError('VALIDATION_ERROR', 'The text is not JSON', { cause })
  }
  scanTokens(text)
  return value
}

/** Runs before the parser, so that it never gets deeply nested text. Skips strings. The parser finds malformed text. */
function checkDepth(text: string, maxDepth: number): void {
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (char === '"') i = endOfString(text, i)
    else if (char === '{' || char === '[') {
      if (++depth > maxDepth) throw validationError(`JSON must not be nested deeper than ${maxDepth}`)
    } else if (char === '}' || char === ']') depth--
  }
}

/** The index of the closing quote of the string that begins at `start`; the text's length if it is not closed. */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    if (text[i] === '\\') i++
    else if (text[i] === '"') return i
  }
  return text.length
}

const numberToken = /-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y

/** Checks the tokens of a text that is known to be JSON. */
function scanTokens(text: string): void {
  /** For each open object the names so far, for each open array `null`. */
  const open: (Set<string> | null)[] = []
  let isNameNext = false
  for (let i = 0; i < text.length; i++) {
    const char = text[i] ?? ''
    if (char === '"') {
      const end = endOfString(text, i)
      const string = String(JSON.parse(text.slice(i, end + 1)))
      if (!string.isWellFormed())
        throw validationError('A text contains a lone surrogate, which cannot be written in UTF-8')
      if (isNameNext) addName(open.at(-1), string)
      isNameNext = false
      i = end
    } else if (char === '{') {
      open.push(new Set())
      isNameNext = true
    } else if (char === '[') {
      open.push(null)
      isNameNext = false
    } else if (char === '}' || char === ']') {
      open.pop()
      isNameNext = false
    } else if (char === ',') isNameNext = open.at(-1) !== null
    else if (char === '-' || (char >= '0' && char <= '9')) {
      numberToken.lastIndex = i
      const token = numberToken.exec(text)?.[0] ?? char
      checkNumberToken(token)
      i += token.length - 1
    }
  }
}

function addName(names: Set<string> | null | undefined, name: string): void {
  if (name === '__proto__') throw validationError('The key __proto__ is not allowed')
  if (names?.has(name) === true)
    throw validationError(`The key ${JSON.stringify(name.slice(0, 64))} occurs twice in one object`)
  names?.add(name)
}

function checkNumberToken(token: string): void {
  const value = Number(token)
  checkNumber(value)
  const exact = decimal(token)
  if (exact !== decimal(String(value)) && exact !== printedWithDigitsOf(exact, value))
    throw validationError(`The number ${token.slice(0, 64)} has too many digits for a double: send it as a text`)
}

/** The decimal that a printer of as many significant digits writes, such as C's `%.17g`. A double needs at most 17. */
function printedWithDigitsOf(exact: string, value: number): string | undefined {
  const digits = /\d+/.exec(exact)?.[0].length ?? 0
  return digits <= 17 ? decimal(value.toPrecision(digits)) : undefined
}

const numberParts = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/

/** The same text for equal decimal values: sign, digits without outer zeros, exponent of the last digit. */
function decimal(token: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = numberParts.exec(token) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = withoutTrailingZeros(digits)
  if (significant === '') return '0'
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}

/** Uses a loop, because `/0+$/` takes quadratic time if the zeros are not at the end (80,000 digits: 2 s). */
function withoutTrailingZeros(digits: string): string {
  let end = digits.length
  while (end > 0 && digits[end - 1] === '0') end--
  return digits.slice(0, end)
}
