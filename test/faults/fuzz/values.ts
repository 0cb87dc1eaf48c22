import { pick, type Random } from '../../support/bundle-mutations.ts'

/** Random values from the JSON schemas of the OpenAPI document. */

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
  readonly contentMediaType?: string
}

/** What the values are made from. */
export interface ValueSource {
  readonly random: Random
  /** Resolves `$ref`. */
  readonly resolve: (reference: string) => Schema
  /** Names and ids that exist in the registry. */
  readonly known: readonly string[]
}

const MAX_DEPTH = 6
const WORDS = ['a', 'Golf', 'Ada Lovelace', 'größer', '数据', '😀', 'x'.repeat(255), 'tab\there', '0', 'null', '%2F']
const HEX = '0123456789abcdef'

/** A value that fits the schema, except that texts with a pattern may not. */
export function valueOf(schema: Schema, source: ValueSource, depth = 0): unknown {
  const { random } = source
  if (schema.$ref !== undefined) return valueOf(source.resolve(schema.$ref), source, depth)
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return pick(random, schema.enum)
  if (schema.examples !== undefined && random() < 0.2) return pick(random, schema.examples)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return valueOf(pick(random, choices), source, depth)
  if (schema.allOf !== undefined) return Object.assign({}, ...schema.allOf.map((part) => valueOf(part, source, depth)))
  const type = typeof schema.type === 'string' ? schema.type : (schema.type?.[0] ?? 'object')
  return depth > MAX_DEPTH ? null : valueOfType(type, schema, source, depth)
}

function valueOfType(type: string, schema: Schema, source: ValueSource, depth: number): unknown {
  const { random } = source
  switch (type) {
    case 'string':
      return textOf(schema, source)
    case 'integer':
    case 'number':
      return (schema.minimum ?? 0) + Math.floor(random() * Math.min(100, (schema.maximum ?? 100) + 1))
    case 'boolean':
      return random() < 0.5
    case 'array': {
      const count = (schema.minItems ?? 0) + Math.floor(random() * 3)
      return Array.from({ length: count }, () => valueOf(schema.items ?? { type: 'string' }, source, depth + 1))
    }
    case 'null':
      return null
    default:
      return objectOf(schema, source, depth)
  }
}

function objectOf({ properties, required = [] }: Schema, source: ValueSource, depth: number): object {
  const { random } = source
  if (properties === undefined) return { [textOf({}, source).slice(0, 20)]: random() < 0.5 ? 12 : 'value' }
  const members = Object.entries(properties).filter(([name]) => required.includes(name) || random() < 0.4)
  return Object.fromEntries(members.map(([name, member]) => [name, valueOf(member, source, depth + 1)]))
}

function textOf({ pattern = '', format, minLength = 0, maxLength = 256 }: Schema, source: ValueSource): string {
  const { random, known } = source
  if (format === 'date-time') return new Date(Math.floor(random() * 2e12)).toISOString()
  if (/\{64\}/.test(pattern)) return random() < 0.5 ? pick(random, known) : repeated(random, HEX, 64)
  const kind = random()
  const text = kind < 0.4 ? pick(random, known) : kind < 0.7 ? pick(random, WORDS) : `new-${Math.floor(random() * 1e9)}`
  return text.padEnd(minLength, 'x').slice(0, Math.max(1, maxLength))
}

const repeated = (random: Random, alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[Math.floor(random() * alphabet.length)]).join('')

/** Values that no schema asks for. */
const WILD: readonly unknown[] = [
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
]

export const wildValue = (random: Random): unknown => pick(random, WILD)

/** As text, for paths, queries and forms. */
export const wildText = (random: Random): string => {
  const value = wildValue(random)
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Replaces, removes or adds one member of a document, at any depth. */
export function damaged(value: unknown, random: Random): unknown {
  if (typeof value !== 'object' || value === null || random() < 0.1) return wildValue(random)
  const names = Object.keys(value)
  const name = names.length === 0 ? 'unknown' : pick(random, names)
  if (Array.isArray(value)) return value.map((item, i) => (String(i) === name ? damaged(item, random) : item))
  const members: Record<string, unknown> = { ...value }
  const choice = random()
  if (choice < 0.2) delete members[name]
  else if (choice < 0.3) members[`${name}x`] = 1
  else members[name] = damaged(members[name], random)
  return members
}
