import { RegistryError } from '../errors.ts'

/**
 * RFC 8785 canonical JSON, strict: what does not survive it is refused, not mended. Keys sort by UTF-16 code unit, also
 * those that look like integers.
 */

/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/** Deepest nesting of arrays and objects anywhere; a scalar has depth 0. */
export const MAX_DEPTH = 64

export interface JsonLimits {
  /** Deepest nesting of arrays and objects. Default `MAX_DEPTH`. */
  readonly maxDepth?: number
}

const refuse = (why: string): RegistryError => new RegistryError('VALIDATION_ERROR', why)

/**
 * The canonical text of a value. Throws `VALIDATION_ERROR` for lone surrogates, unsafe integers, -0, NaN and infinities,
 * `undefined`, what is no plain JSON value, the key `__proto__`, and nesting beyond the cap.
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
      if (maxDepth === 0) throw refuse('A value is nested too deep')
      return Array.isArray(value) ? arrayText(value, maxDepth - 1) : objectText(value, maxDepth - 1)
    default:
      throw refuse(`A value of type ${typeof value} has no JSON form`)
  }
}

/** Printable ASCII without quote and backslash: it stands for itself. */
const plain = /^[ !#-[\]-~]*$/

/** The test first takes half the time of `isWellFormed` and `JSON.stringify`, and most texts and all names pass it. */
function quoted(text: string): string {
  if (plain.test(text)) return `"${text}"`
  if (!text.isWellFormed()) throw refuse('A text holds a lone surrogate, which has no UTF-8 form')
  return JSON.stringify(text)
}

function arrayText(array: readonly unknown[], maxDepth: number): string {
  let out = '['
  for (let i = 0; i < array.length; i++) out += (i === 0 ? '' : ',') + textOf(array[i], maxDepth)
  return out + ']'
}

function objectText(object: object, maxDepth: number): string {
  const prototype: unknown = Object.getPrototypeOf(object)
  if (prototype !== Object.prototype && prototype !== null) throw refuse('Only plain objects have a JSON form')
  let out = '{'
  // The default sort is by UTF-16 code unit, which is what RFC 8785 § 3.2.3 asks for.
  for (const name of Object.keys(object).sort()) {
    if (name === '__proto__') throw refuse('The key __proto__ is refused')
    const text = textOf((object as Record<string, unknown>)[name], maxDepth)
    out += `${out === '{' ? '' : ','}${quoted(name)}:${text}`
  }
  return out + '}'
}

function checkNumber(value: number): void {
  if (!Number.isFinite(value)) throw refuse('NaN and infinities have no JSON form')
  if (Object.is(value, -0)) throw refuse('-0 does not survive canonical JSON')
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw refuse('An integer is beyond the safe ones (2^53 - 1)')
}

/**
 * Parses JSON text from outside. The text is scanned before it is parsed, because `JSON.parse` silently merges duplicate
 * keys and rounds numbers. Throws `MALFORMED_BODY` where it is no JSON, `VALIDATION_ERROR` where it would not survive
 * canonical JSON: duplicate keys, integers beyond the safe ones, decimals that do not round-trip, -0, lone surrogates,
 * the key `__proto__`, nesting beyond the cap.
 */
export function parseStrictJson(text: string, { maxDepth = MAX_DEPTH }: JsonLimits = {}): Json {
  checkDepth(text, maxDepth)
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch (cause) {
    throw new RegistryError('MALFORMED_BODY', 'The text is not JSON', { cause })
  }
  scan(text)
  return value
}

/** Depth first, so that nothing deep is ever handed to a parser. Strings are skipped; broken text is left to the parser. */
function checkDepth(text: string, maxDepth: number): void {
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (char === '"') i = endOfString(text, i)
    else if (char === '{' || char === '[') {
      if (++depth > maxDepth) throw refuse(`JSON is nested more than ${maxDepth} deep`)
    } else if (char === '}' || char === ']') depth--
  }
}

/** The index of the closing quote of the string that opens at `start`; the text's length where it is not closed. */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    if (text[i] === '\\') i++
    else if (text[i] === '"') return i
  }
  return text.length
}

const numberToken = /-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y

/** Walks the tokens of text that is known to be JSON. An object's names so far are on the stack; an array's place is null. */
function scan(text: string): void {
  const open: (Set<string> | null)[] = []
  let nameNext = false
  for (let i = 0; i < text.length; i++) {
    const char = text[i] as string
    if (char === '"') {
      const end = endOfString(text, i)
      const string = JSON.parse(text.slice(i, end + 1)) as string
      if (!string.isWellFormed()) throw refuse('A text holds a lone surrogate, which has no UTF-8 form')
      if (nameNext) addName(open.at(-1) as Set<string>, string)
      nameNext = false
      i = end
    } else if (char === '{') {
      open.push(new Set())
      nameNext = true
    } else if (char === '[') {
      open.push(null)
      nameNext = false
    } else if (char === '}' || char === ']') {
      open.pop()
      nameNext = false
    } else if (char === ',') nameNext = open.at(-1) !== null
    else if (char === '-' || (char >= '0' && char <= '9')) {
      numberToken.lastIndex = i
      const token = (numberToken.exec(text) as RegExpExecArray)[0]
      checkNumberToken(token)
      i += token.length - 1
    }
  }
}

function addName(names: Set<string>, name: string): void {
  if (name === '__proto__') throw refuse('The key __proto__ is refused')
  if (names.has(name)) throw refuse(`The key ${JSON.stringify(name.slice(0, 64))} stands twice in one object`)
  names.add(name)
}

function checkNumberToken(token: string): void {
  const value = Number(token)
  checkNumber(value)
  if (decimal(token) !== decimal(String(value)))
    throw refuse(`The number ${token.slice(0, 64)} does not round-trip; send it as a text`)
}

/** One spelling per decimal value: sign, digits without outer zeros, exponent of the last digit. */
function decimal(token: string): string {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/.exec(
    token,
  ) as RegExpExecArray
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = withoutTrailingZeros(digits)
  if (significant === '') return '0'
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}

/** By a loop, because `/0+$/` takes quadratic time where zeros do not stand at the end (80,000 digits: 2 s). */
function withoutTrailingZeros(digits: string): string {
  let end = digits.length
  while (end > 0 && digits[end - 1] === '0') end--
  return digits.slice(0, end)
}
