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
 * @throws `VALIDATION_ERROR` for lone surrogates, -0, NaN and infinities, `undefined`, values that are not plain JSON
 * values, the key `__proto__`, and nesting that is too deep.
 * @example
 * canonicalJson({ b: 1, a: [true] }) // '{"a":[true],"b":1}'
 */
export const canonicalJson = (value: unknown, { maxDepth = MAX_DEPTH }: JsonLimits = {}): string =>
  textOf(value, maxDepth, maxDepth)

/** `depthLeft`: how deep the value itself may be nested. */
function textOf(value: unknown, depthLeft: number, maxDepth: number): string {
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
      if (depthLeft === 0) throw validationError(`JSON must not be nested deeper than ${maxDepth} levels`)
      return Array.isArray(value)
        ? arrayText(value, depthLeft - 1, maxDepth)
        : objectText(value, depthLeft - 1, maxDepth)
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

function arrayText(array: readonly unknown[], depthLeft: number, maxDepth: number): string {
  let out = '['
  for (let i = 0; i < array.length; i++) out += (i === 0 ? '' : ',') + textOf(array[i], depthLeft, maxDepth)
  return out + ']'
}

function isPlain(object: object): object is Readonly<Record<string, unknown>> {
  const prototype: unknown = Object.getPrototypeOf(object)
  // The last one is that of a plain object of another realm.
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null
}

function objectText(object: object, depthLeft: number, maxDepth: number): string {
  if (!isPlain(object)) throw validationError('Only plain objects can be written as JSON')
  let out = '{'
  for (const name of sortedNames(object)) {
    if (name === '__proto__') throw validationError('The key __proto__ is not allowed')
    const text = textOf(object[name], depthLeft, maxDepth)
    out += `${out === '{' ? '' : ','}${quoted(name)}:${text}`
  }
  return out + '}'
}

/** Up to this many names are sorted in place. */
const FEW_NAMES = 32

/**
 * The names of an object's members in the order of UTF-16 code units, as RFC 8785 § 3.2.3 requires. `Array.sort` has
 * that order, but allocates 2.7 KB for the 13 names of an event, which are sorted for each create.
 */
export function sortedNames(object: object): readonly string[] {
  const names = Object.keys(object)
  if (names.length > FEW_NAMES) return names.sort()
  for (let i = 1; i < names.length; i++) {
    const name = names[i]
    if (name === undefined) break
    let at = i
    for (let before = names[at - 1]; before !== undefined && before > name; before = names[at - 1]) names[at--] = before
    names[at] = name
  }
  return names
}

function checkNumber(value: number): void {
  if (!Number.isFinite(value)) throw validationError('NaN and infinities cannot be written as JSON')
  if (Object.is(value, -0)) throw validationError('-0 is not allowed, because canonical JSON changes it to 0')
}
