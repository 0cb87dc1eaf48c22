import fc from 'fast-check'
import { codePoint } from '../code-point.ts'

/** Random values from the JSON schemas of an OpenAPI document. */

export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly minItems?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly pattern?: string
  readonly format?: string
  readonly examples?: readonly unknown[]
}

/** What the values are made from. */
export interface ValueSource {
  /** Resolves `$ref`. */
  readonly resolve: (reference: string) => Schema
  /** Names and ids that exist in the registry. */
  readonly known: readonly string[]
}

const HEX_DIGITS = Array.from('0123456789abcdef')
const MAX_DEPTH = 6
/** Of a document that is nearly valid, one value in so many is any other one. */
const ODD_EVERY = 12
const WORDS = ['a', 'Golf', 'Ada Lovelace', 'größer', '数据', '😀', 'x'.repeat(255), 'tab\there', '0', 'null', '%2F']

/** Values that no schema asks for. */
export const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    '',
    ' ',
    '..',
    '\0',
    '\u202e\u200b',
    'a/b',
    '%',
    '\ud800',
    '__proto__',
    '999999999999999999999999',
    '-1',
    '1e309',
    'x'.repeat(5_000),
    '😀'.repeat(300),
    null,
    -1,
    0.5,
    1e308,
    Number.MAX_SAFE_INTEGER + 1,
    true,
    [],
    {},
    [[[[[[[[[[]]]]]]]]]],
    { __proto__x: 1, constructor: { prototype: {} } },
    Array.from({ length: 2_000 }, (_, i) => i),
  ),
  fc.jsonValue({ maxDepth: 4 }),
  fc.string({ unit: codePoint, maxLength: 20 }),
)

/** As texts, for paths, queries and forms. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Values that fit a schema, except that texts with a pattern may not. `isExact` is false: some of them do not fit. */
export function valuesOf(schema: Schema, source: ValueSource, isExact: boolean, depth = 0): fc.Arbitrary<unknown> {
  const fitting = fittingValues(schema, source, isExact, depth)
  return isExact ? fitting : fc.oneof({ weight: ODD_EVERY - 1, arbitrary: fitting }, { weight: 1, arbitrary: oddValue })
}

function fittingValues(schema: Schema, source: ValueSource, isExact: boolean, depth: number): fc.Arbitrary<unknown> {
  const of = (each: Schema, more = 0): fc.Arbitrary<unknown> => valuesOf(each, source, isExact, depth + more)
  if (depth > MAX_DEPTH) return fc.constant(null)
  if (schema.$ref !== undefined) return of(source.resolve(schema.$ref))
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return fc.oneof(...choices.map((each) => of(each)))
  if (schema.allOf !== undefined)
    return fc.tuple(...schema.allOf.map((each) => of(each))).map((parts) => Object.assign({}, ...parts))
  const examples = (schema.examples ?? []).map((each) => ({ weight: 1, arbitrary: fc.constant(each) }))
  return fc.oneof({ weight: 4, arbitrary: valuesOfType(schema, source, isExact, of) }, ...examples)
}

function valuesOfType(
  schema: Schema,
  source: ValueSource,
  isExact: boolean,
  of: (schema: Schema, more: number) => fc.Arbitrary<unknown>,
): fc.Arbitrary<unknown> {
  const { minimum = 0, maximum = minimum + 100, minItems = 0, items = { type: 'string' }, required = [] } = schema
  switch (typeof schema.type === 'string' ? schema.type : schema.type?.[0]) {
    case 'string':
      return textsOf(schema, source)
    case 'integer':
    case 'number':
      return fc.integer({ min: minimum, max: Math.min(maximum, minimum + 100) })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array':
      return fc.array(of(items, 1), { minLength: minItems, maxLength: minItems + 2 })
    default: {
      if (schema.properties === undefined) return fc.dictionary(fc.string({ maxLength: 20 }), fc.jsonValue())
      const members = Object.entries(schema.properties).map(([name, each]) => [name, of(each, 1)] as const)
      const record = fc.record(Object.fromEntries(members), { requiredKeys: isExact ? [...required] : [] })
      const unknown = fc.record({ unknown: fc.constant(1) })
      return isExact
        ? record
        : fc.oneof({ weight: 9, arbitrary: record }, { weight: 1, arbitrary: fc.tuple(record, unknown).map(merged) })
    }
  }
}

const merged = (parts: readonly object[]): object => Object.assign({}, ...parts)

function textsOf({ pattern = '', format, minLength = 0, maxLength = 256 }: Schema, { known }: ValueSource) {
  if (format === 'date-time') return fc.nat(2e9).map((seconds) => new Date(seconds * 1_000).toISOString())
  const hash = fc.string({ unit: fc.constantFrom(...HEX_DIGITS), minLength: 64, maxLength: 64 })
  const others = /\{64\}/.test(pattern) ? [hash] : [fc.constantFrom(...WORDS), fc.nat().map((i) => `new-${i}`)]
  const text = fc.oneof(fc.constantFrom(...known), ...others)
  return text.map((each) => each.padEnd(minLength, 'x').slice(0, Math.max(1, maxLength)))
}
