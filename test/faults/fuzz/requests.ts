import { END, MULTIPART, part } from '../../support/raw-http.ts'
import { pick, type Random } from '../../support/bundle-mutations.ts'
import { damaged, valueOf, wildText, wildValue, type Schema, type ValueSource } from './values.ts'

/** Requests to the operations of the OpenAPI document. */

export interface Parameter {
  readonly in: string
  readonly name: string
  readonly required?: boolean
  readonly schema: Schema
}

/** An operation of the document. */
export interface Operation {
  readonly id: string
  readonly method: string
  /** With the base path, and with parameters in braces. */
  readonly path: string
  readonly parameters: readonly Parameter[]
  /** The schema of the body by media type. */
  readonly bodies: ReadonlyMap<string, Schema>
  /** Bodies that the document shows. */
  readonly examples: readonly unknown[]
  readonly needsKey: boolean
}

/** What requests are made from. */
export interface RequestSource extends ValueSource {
  /** Values that exist, by the name of the parameter. */
  readonly values: Readonly<Record<string, readonly string[]>>
  readonly keys: readonly string[]
}

export interface FuzzRequest {
  readonly method: string
  /** With the query, encoded. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer
  /** Whether it certainly reaches this operation, so that its response must be one that the document describes. */
  readonly isRouted: boolean
}

/** How well a request fits the document. */
type Fit = 'valid' | 'nearly' | 'wild'

export function requestTo(operation: Operation, source: RequestSource): FuzzRequest {
  const { random } = source
  const fit = pick<Fit>(random, ['valid', 'valid', 'nearly', 'nearly', 'wild'])
  const values = operation.parameters.filter(({ required }) => required === true || random() < 0.4)
  const of = (place: string) =>
    values
      .filter((parameter) => parameter.in === place)
      .map((each) => [each.name, parameterText(each, fit, source)] as const)
  const pathValues = of('path')
  const path = pathValues.reduce(
    (text, [name, value]) => text.replace(`{${name}}`, pathSegment(name, value)),
    operation.path,
  )
  const query = of('query').map(([name, value]) => `${encodeText(name)}=${encodeText(value)}`)
  if (fit === 'wild' && random() < 0.3) query.push(`${encodeText(wildText(random))}=${encodeText(wildText(random))}`)
  const body = bodyOf(operation, fit, source)
  return {
    method: operation.method.toUpperCase(),
    path: `${path}${query.length === 0 ? '' : `?${query.join('&')}`}`.slice(0, 9_000),
    headers: {
      ...keyOf(operation, fit, source),
      ...Object.fromEntries(of('header').map(([name, value]) => [name, headerText(value)])),
      ...body?.headers,
    },
    ...(body && { body: body.bytes }),
    isRouted: pathValues.every(([name, value]) => isSegment(name, value)),
  }
}

/** The name of the tile parameter, which may hold slashes. */
const TILE = 'N'
const isSegment = (name: string, value: string): boolean => name !== TILE && !/^\.*$|[/\\\0]|^.{400}/u.test(value)

const pathSegment = (name: string, value: string): string =>
  name === TILE ? encodeURI(toWellFormed(value)) : encodeText(value)
const toWellFormed = (text: string): string => Buffer.from(text).toString()
const encodeText = (text: string): string => encodeURIComponent(toWellFormed(text))
/** Node does not send other characters in a header. */
const headerText = (value: string): string => value.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 2_000)

function parameterText({ name, schema }: Parameter, fit: Fit, source: RequestSource): string {
  const { random, values } = source
  const existing = values[name]
  const isWild = fit === 'wild' ? random() < 0.6 : fit === 'nearly' && random() < 0.25
  if (isWild) return wildText(random)
  if (existing !== undefined && random() < 0.85) return pick(random, existing)
  const value = valueOf(schema, source)
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function keyOf({ needsKey }: Operation, fit: Fit, { random, keys }: RequestSource): Readonly<Record<string, string>> {
  if (!needsKey && random() < 0.8) return {}
  if (fit === 'wild' && random() < 0.3) return random() < 0.5 ? {} : { 'x-api-key': headerText(wildText(random)) }
  return { 'x-api-key': pick(random, keys) }
}

interface Body {
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Buffer
}

function bodyOf({ bodies, examples }: Operation, fit: Fit, source: RequestSource): Body | undefined {
  const { random } = source
  if (bodies.size === 0) return undefined
  const [type, schema] = pick(random, [...bodies])
  if (fit === 'wild' && random() < 0.5) return wildBody(type, random)
  const value = examples.length > 0 && random() < 0.3 ? pick(random, examples) : valueOf(schema, source)
  const given = fit === 'valid' ? value : damaged(value, random)
  if (type === 'application/json') return jsonBody(JSON.stringify(given))
  return formBody(typeof given === 'object' && given !== null ? given : {}, schema, fit, random)
}

const jsonBody = (text = 'null'): Body => ({
  headers: { 'content-type': 'application/json' },
  bytes: Buffer.from(text),
})

const GARBAGE: readonly (string | Buffer)[] = [
  '',
  '{',
  '[]',
  'null',
  '"text"',
  '{"a":1,"a":2}',
  '{"__proto__":{}}',
  `${'['.repeat(50_000)}${']'.repeat(50_000)}`,
  `{"name":"${'x'.repeat(200_000)}"}`,
  `[${'1,'.repeat(100_000)}1]`,
  Buffer.from([0xff, 0xfe, 0x00, 0x80]),
  '\ufeff{}',
]

function wildBody(type: string, random: Random): Body {
  const bytes = Buffer.from(pick(random, GARBAGE))
  const contentType = pick(random, [
    type,
    type,
    MULTIPART,
    'application/json',
    'text/plain',
    'multipart/form-data',
    ';;',
  ])
  return { headers: { 'content-type': contentType }, bytes }
}

/** A form. A member whose schema is a file becomes one. */
function formBody(value: object, { properties = {} }: Schema, fit: Fit, random: Random): Body {
  const parts = Object.entries(value).flatMap(([name, member]) => partsOf(name, member, properties[name] ?? {}, random))
  const text = parts.join('') + END
  const bytes = Buffer.from(fit === 'valid' ? text : damagedForm(text, random), 'latin1')
  return { headers: { 'content-type': MULTIPART }, bytes }
}

function partsOf(name: string, member: unknown, schema: Schema, random: Random): readonly string[] {
  const isFile = (schema.contentMediaType ?? schema.items?.contentMediaType) !== undefined
  const items = Array.isArray(member) ? member : [member]
  return items.map((item) => {
    const text = typeof item === 'string' ? item : JSON.stringify(item ?? wildValue(random))
    const content = Buffer.from(text).toString('latin1')
    return isFile
      ? part(name, content, { filename: 'a.txt', headers: 'Content-Type: text/plain\r\n' })
      : part(name, content)
  })
}

/** Removes, repeats or overwrites a piece of a form. */
export function damagedForm(text: string, random: Random): string {
  const [from, length] = [Math.floor(random() * text.length), 1 + Math.floor(random() * 40)]
  const piece = text.slice(from, from + length)
  const instead = pick(random, ['', piece + piece, '\r\n', '--', '\0', '\xff'.repeat(10), ';', '"', ': '])
  return text.slice(0, from) + instead + text.slice(from + length)
}
