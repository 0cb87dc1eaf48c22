import { RegistryError } from '../errors.ts'
import { MAX_DEPTH, type Json, type JsonLimits } from './canonical-json.ts'

export interface StrictJsonLimits extends JsonLimits {
  /** How many values, at any depth, the text may have. Names are not values. Default: any number. */
  readonly maxValues?: number
  /**
   * Accepts an integer beyond 2^53 - 1 as canonical JSON writes it, such as `10000000000000000` for 1e16. Default
   * false: a sender who writes such digits may mean another integer than the double that they become.
   */
  readonly acceptsCanonicalIntegers?: boolean
  /** Default true: an error names the place. That takes a second pass, three times as long as the first. */
  readonly namesPlace?: boolean
}

/**
 * Parses JSON text, and rejects what canonical JSON cannot hold exactly. `JSON.parse` alone keeps the last of two equal
 * keys and rounds numbers silently.
 *
 * The sender controls the text, so the time is linear: one pass over the characters (nesting, number tokens, the counts
 * of names and values), `JSON.parse`, and one walk over the value.
 *
 * @throws `VALIDATION_ERROR`. If the text is not JSON at all, its `cause` is a SyntaxError. Otherwise it has duplicate
 * keys, the key `__proto__`, digits of an integer beyond 2^53 - 1, decimals that a double does not hold, -0, lone
 * surrogates, or nesting that is too deep. `PAYLOAD_TOO_LARGE` if it has too many values, before it is parsed.
 * @example
 * parseStrictJson('{"a":1,"a":2}') // throws VALIDATION_ERROR: a: The key occurs twice in one object
 */
export function parseStrictJson(text: string, limits: StrictJsonLimits = {}): Json {
  const names = scan(text, limits)
  const value = parse(text)
  const check: Check = { hasOddText: text.includes('\\u') || !text.isWellFormed(), names: 0 }
  const why = problemIn(value, check)
  if (why !== undefined) throw errorAt(text, why, isWrong, limits)
  // The parser keeps one of several equal names, so the value then has fewer names than the text.
  if (check.names !== names) throw duplicateName(text, limits)
  return value
}

const validationError = (why: string): RegistryError => new RegistryError('VALIDATION_ERROR', why)

function parse(text: string): Json {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new RegistryError('VALIDATION_ERROR', 'The text is not JSON', { cause })
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const OPEN_BRACKET = 0x5b
const CLOSE_BRACE = 0x7d
const CLOSE_BRACKET = 0x5d
const COMMA = 0x2c

/** What a character outside of texts means for `scan`. */
const [OTHER, TEXT, NAME_END, OPEN, CLOSE, NUMBER, LITERAL] = [0, 1, 2, 3, 4, 5, 6]

/** By character. A letter of `LITERAL` occurs once in one of `true`, `false` and `null`, and in no other of them. */
const KINDS = new Uint8Array(0x80)
for (const [kind, chars] of [
  [TEXT, '"'],
  [NAME_END, ':'],
  [OPEN, '[{'],
  [CLOSE, ']}'],
  [NUMBER, '0123456789.'],
  [LITERAL, 'tfn'],
] as const)
  for (const char of chars) KINDS[char.charCodeAt(0)] = kind

const kindOf = (char: number): number => KINDS[char] ?? OTHER

/**
 * Checks nesting, number tokens and the number of values before the text is parsed. The parser finds malformed text
 * later.
 *
 * @returns the number of names in all objects together
 */
function scan(text: string, limits: StrictJsonLimits): number {
  const { maxDepth = MAX_DEPTH, maxValues = Infinity } = limits
  let depth = 0
  let names = 0
  let namesAndValues = 0
  for (let i = 0; i < text.length; i++) {
    const kind = kindOf(text.charCodeAt(i))
    if (kind === OTHER) continue
    if (kind === NUMBER) {
      namesAndValues++
      i = checkNumberAt(text, i, limits)
    } else if (kind === TEXT) {
      namesAndValues++
      i = endOfString(text, i)
    } else if (kind === NAME_END) names++
    else if (kind === OPEN) {
      namesAndValues++
      if (++depth > maxDepth) throw validationError(`JSON must not be nested deeper than ${maxDepth} levels`)
    } else if (kind === CLOSE) depth--
    else namesAndValues++
  }
  if (namesAndValues - names > maxValues)
    throw new RegistryError('PAYLOAD_TOO_LARGE', `JSON must have at most ${maxValues} values`)
  return names
}

/** The index of the closing quote of the string that begins at `start`; the text's length if it is not closed. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (text.charCodeAt(before) === BACKSLASH) before--
    // An odd number of backslashes escapes the quote.
    if ((end - before) % 2 === 1) return end
  }
  return text.length
}

const isExponent = (char: number): boolean => char === 0x45 || char === 0x65

const isSign = (char: number): boolean => char === 0x2b || char === 0x2d

/**
 * A double holds a number of at most 15 digits and a point, and every integer of fewer than 16 digits.
 */
const MAX_EXACT_LENGTH = 16
/** With an exponent of at most two digits, a double holds any 15 digits. */
const MAX_EXACT_LENGTH_WITH_EXPONENT = 15
/** The mark, the sign and the digits. */
const MAX_EXACT_EXPONENT_LENGTH = 4

/** Checks the number whose digits begin at `start`. Returns the index of its last character. */
function checkNumberAt(text: string, start: number, limits: StrictJsonLimits): number {
  const next = text.charCodeAt(start + 1)
  // Many numbers are a single digit, which needs no check.
  if (kindOf(next) !== NUMBER && !isExponent(next)) return start
  const digitsEnd = endOfDigits(text, start)
  const end = endOfNumber(text, start)
  const maxLength = end === digitsEnd ? MAX_EXACT_LENGTH : MAX_EXACT_LENGTH_WITH_EXPONENT
  if (digitsEnd - start >= maxLength || end - digitsEnd > MAX_EXACT_EXPONENT_LENGTH) {
    const why = problemOfNumber(text.slice(start, end), limits)
    if (why !== undefined) throw errorAt(text, why, (token) => token.start === start, limits)
  }
  return end - 1
}

/** Of an integer, the digits must be exactly the number; a decimal must be held by a double. */
function problemOfNumber(token: string, { acceptsCanonicalIntegers = false }: StrictJsonLimits): string | undefined {
  if (!/^\d+$/.test(token))
    return isHeldByDouble(token)
      ? undefined
      : `The number ${token.slice(0, 64)} has too many digits for a double: send it as a text`
  const value = Number(token)
  if (value <= Number.MAX_SAFE_INTEGER || (acceptsCanonicalIntegers && String(value) === token)) return undefined
  return 'An integer is beyond the safe integers (2^53 - 1): send it as a text'
}

function endOfNumber(text: string, start: number): number {
  const digitsEnd = endOfDigits(text, start)
  return isExponent(text.charCodeAt(digitsEnd)) ? endOfExponent(text, digitsEnd) : digitsEnd
}

function endOfDigits(text: string, start: number): number {
  let end = start
  while (kindOf(text.charCodeAt(end)) === NUMBER) end++
  return end
}

/** Returns `start` if no digits follow, which the parser rejects later. */
function endOfExponent(text: string, start: number): number {
  const digitsAt = isSign(text.charCodeAt(start + 1)) ? start + 2 : start + 1
  const end = endOfDigits(text, digitsAt)
  return end === digitsAt ? start : end
}

/** The state of the walk over a parsed value. */
interface Check {
  /** Whether a text can contain a lone surrogate: one was written as an escape, or as it is. */
  readonly hasOddText: boolean
  names: number
}

/** `Array.isArray` does not narrow readonly arrays. */
const isArray = (value: Json): value is readonly Json[] => Array.isArray(value)

/** What is wrong with a number, text or name; counts names. The depth was checked before. */
function problemIn(value: Json, check: Check): string | undefined {
  if (typeof value === 'number') return problemOf(value)
  if (typeof value === 'string') return problemOfText(value, check)
  if (isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const why = problemIn(value[i] ?? null, check)
      if (why !== undefined) return why
    }
  } else if (typeof value === 'object' && value !== null) return problemInObject(value, check)
  return undefined
}

function problemInObject(object: { readonly [name: string]: Json }, check: Check): string | undefined {
  for (const name in object) {
    check.names++
    if (name === '__proto__') return 'The key __proto__ is not allowed'
    const why = problemOfText(name, check) ?? problemIn(object[name] ?? null, check)
    if (why !== undefined) return why
  }
  return undefined
}

const problemOfText = (text: string, { hasOddText }: Check): string | undefined =>
  hasOddText && !text.isWellFormed() ? 'A text contains a lone surrogate, which cannot be written in UTF-8' : undefined

function problemOf(value: number): string | undefined {
  if (!Number.isFinite(value)) return 'A number is too large for a double'
  return Object.is(value, -0) ? '-0 cannot be written as canonical JSON' : undefined
}

/** Whether a token is what `problemIn` found. */
function isWrong({ text, isName }: Token): boolean {
  if (!text.startsWith('"')) return problemOf(Number(text)) !== undefined
  const value = nameOf(text)
  return !value.isWellFormed() || (isName && value === '__proto__')
}

/** A name, a text or a number, and where it is in the value. */
interface Token {
  /** Without the sign of a number. */
  readonly start: number
  readonly text: string
  readonly isName: boolean
  /** Of a name: whether its object has it already. */
  readonly isDuplicate: boolean
  /** Such as `evidences[17].meta.t`. */
  readonly place: () => string
}

/** An open object or array, and the name or index in it. */
interface Container {
  at: string | number
  readonly names: Set<string> | undefined
}

/** The tokens of a text that is JSON, or at least until one that is not. Slow: it finds the place of an error. */
function* tokensOf(text: string): Generator<Token, void, undefined> {
  const open: Container[] = []
  const place = (): string => placeIn(open)
  let isName = false
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i)
    const parent = open.at(-1)
    if (char === OPEN_BRACE || char === OPEN_BRACKET) {
      isName = char === OPEN_BRACE
      open.push(isName ? { at: '', names: new Set() } : { at: 0, names: undefined })
    } else if (char === CLOSE_BRACE || char === CLOSE_BRACKET) open.pop()
    else if (char === COMMA) {
      isName = parent?.names !== undefined
      if (typeof parent?.at === 'number') parent.at++
    } else if (char === QUOTE || kindOf(char) === NUMBER) {
      const end = char === QUOTE ? endOfString(text, i) + 1 : endOfNumber(text, i)
      const token = text.slice(text[i - 1] === '-' ? i - 1 : i, end)
      let isDuplicate = false
      if (isName && parent?.names !== undefined) {
        parent.at = nameOf(token)
        isDuplicate = parent.names.has(parent.at)
        parent.names.add(parent.at)
      }
      yield { start: i, text: token, isName, isDuplicate, place }
      isName = false
      i = end - 1
    }
  }
}

/** A name in quotes. One with a wrong escape stays as it is: the parser rejects it. */
function nameOf(token: string): string {
  try {
    return String(JSON.parse(token))
  } catch {
    return token
  }
}

/** The error for the first token at which it is, with its place. */
function errorAt(
  text: string,
  why: string,
  isAt: (token: Token) => boolean,
  { namesPlace = true }: StrictJsonLimits,
): RegistryError {
  if (!namesPlace) return validationError(why)
  for (const token of tokensOf(text)) {
    if (!isAt(token)) continue
    const field = token.place().slice(0, MAX_PLACE)
    return field === '' ? validationError(why) : new RegistryError('VALIDATION_ERROR', `${field}: ${why}`, { field })
  }
  return validationError(why)
}

const placeIn = (open: readonly Container[]): string =>
  open.reduce((path, { at }) => path + (typeof at === 'number' ? `[${at}]` : `${path && '.'}${at}`), '')

/** Longer paths are cut in errors. */
const MAX_PLACE = 128

/** The error for the first name that occurs twice in one object, in a text that has one. */
const duplicateName = (text: string, limits: StrictJsonLimits): RegistryError =>
  errorAt(text, 'The key occurs twice in one object', ({ isDuplicate }) => isDuplicate, limits)

/** Digits that a double can show. */
const MAX_DIGITS = 17

/**
 * Whether printing the double with as many digits as the token has, at most 17, gives the same decimal again. So the
 * output of printers that use 17 digits is accepted.
 */
export function isHeldByDouble(token: string): boolean {
  const value = Number(token)
  // What printers write, which takes a third of the time of taking the token apart.
  if (String(value) === token || value.toPrecision(MAX_DIGITS) === token) return true
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
