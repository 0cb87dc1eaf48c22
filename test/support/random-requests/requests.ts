import fc from 'fast-check'
import { END, MULTIPART, part } from '../raw-http.ts'
import { oddValue, textOf, valuesOf, type Schema, type ValueSource } from './values.ts'

/** Random requests to the operations of an OpenAPI document. */

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

export interface RandomRequest {
  readonly method: string
  /** With the query, encoded. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer
  /** Whether it certainly reaches this operation, so that its response must be one that the document describes. */
  readonly isRouted: boolean
}

interface Body {
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Buffer
}

/** How well a request fits the document. */
type Fit = 'valid' | 'nearly' | 'wild'

const MAX_PATH_LENGTH = 9_000
/** The name of the tile parameter, which may hold slashes. */
const TILE = 'N'

/** `share` of the values, and else the others. */
const mixed = <T>(share: number, values: fc.Arbitrary<T>, others: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: share, arbitrary: values }, { weight: 100 - share, arbitrary: others })

/** Two in five fit the document, two in five have something wrong, and the rest is wild. */
export const requestsTo = (operation: Operation, source: RequestSource): fc.Arbitrary<RandomRequest> =>
  fc.oneof(
    { weight: 2, arbitrary: requestsOf(operation, 'valid', source) },
    { weight: 2, arbitrary: requestsOf(operation, 'nearly', source) },
    { weight: 1, arbitrary: requestsOf(operation, 'wild', source) },
  )

function requestsOf(operation: Operation, fit: Fit, source: RequestSource): fc.Arbitrary<RandomRequest> {
  const parameters = fc.tuple(
    ...operation.parameters.map((parameter) => {
      const given = parameterTexts(parameter, fit, source).map((text) => [{ ...parameter, text }])
      return parameter.required === true ? given : mixed(40, given, fc.constant([]))
    }),
  )
  const unknown = fc.array(fc.tuple(oddText, oddText), { maxLength: fit === 'wild' ? 1 : 0 })
  const bodies = operation.bodies.size === 0 ? fc.constant(undefined) : bodiesOf(operation, fit, source)
  return fc
    .record({ parameters, unknown, key: keysOf(operation, fit, source), body: bodies })
    .map(({ parameters: given, unknown: more, key, body }) => {
      const texts = given.flat()
      const of = (place: string) => texts.filter((each) => each.in === place)
      const path = of('path').reduce(
        (text, { name, text: value }) => text.replace(`{${name}}`, () => pathSegment(name, value)),
        operation.path,
      )
      const pairs = [...of('query').map(({ name, text }) => [name, text] as const), ...more]
      const query = pairs.map((pair) => pair.map(encodeText).join('='))
      return {
        method: operation.method.toUpperCase(),
        path: `${path}${query.length === 0 ? '' : `?${query.join('&')}`}`.slice(0, MAX_PATH_LENGTH),
        headers: {
          ...key,
          ...Object.fromEntries(of('header').map(({ name, text }) => [name, headerText(text)])),
          ...body?.headers,
        },
        ...(body && { body: body.bytes }),
        isRouted: of('path').every(({ name, text }) => isSegment(name, text)),
      }
    })
}

const isSegment = (name: string, value: string): boolean => name !== TILE && !/^\.*$|[/\\\0]|^.{400}/u.test(value)
const toWellFormed = (text: string): string => Buffer.from(text).toString()
const encodeText = (text: string): string => encodeURIComponent(toWellFormed(text))
const pathSegment = (name: string, value: string): string =>
  name === TILE ? encodeURI(toWellFormed(value)) : encodeText(value)
/** Node does not send other characters in a header. */
const headerText = (value: string): string => value.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 2_000)

const oddText: fc.Arbitrary<string> = oddValue.map(textOf)

function parameterTexts({ name, schema }: Parameter, fit: Fit, source: RequestSource): fc.Arbitrary<string> {
  const existing = source.values[name]
  const any = valuesOf(schema, source, true).map(textOf)
  const right = existing === undefined ? any : mixed(85, fc.constantFrom(...existing), any)
  return fit === 'valid' ? right : mixed(fit === 'wild' ? 60 : 25, oddText, right)
}

function keysOf({ needsKey }: Operation, fit: Fit, { keys }: RequestSource): fc.Arbitrary<Body['headers']> {
  const right = fc.constantFrom(...keys).map((key) => ({ 'x-api-key': key }))
  const none = fc.constant<Body['headers']>({})
  if (!needsKey) return mixed(80, none, right)
  const wrong = fc.oneof(
    none,
    oddText.map((text) => ({ 'x-api-key': headerText(text) })),
  )
  return fit === 'wild' ? mixed(30, wrong, right) : right
}

function bodiesOf({ bodies, examples }: Operation, fit: Fit, source: RequestSource): fc.Arbitrary<Body> {
  const isExact = fit === 'valid'
  const right = fc.oneof(
    ...[...bodies].map(([type, schema]) => {
      const made = valuesOf(schema, source, isExact)
      const values = examples.length === 0 ? made : mixed(30, fc.constantFrom(...examples), made)
      if (type === 'application/json') return values.map((value) => jsonBody(JSON.stringify(value)))
      return fc
        .tuple(values, formDamage)
        .map(([value, damage]) => formBody(value, schema, isExact ? undefined : damage))
    }),
  )
  return fit === 'wild' ? mixed(50, garbage, right) : right
}

const jsonBody = (text: string): Body => ({
  headers: { 'content-type': 'application/json' },
  bytes: Buffer.from(text),
})

const garbage: fc.Arbitrary<Body> = fc.record({
  bytes: fc
    .constantFrom<string | Buffer>(
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
    )
    .map((bytes) => Buffer.from(bytes as string)),
  headers: fc
    .constantFrom(
      MULTIPART,
      MULTIPART,
      'application/json',
      'application/json',
      'text/plain',
      'multipart/form-data',
      ';;',
    )
    .map((type) => ({ 'content-type': type })),
})

/** A form. A member whose schema is a file becomes one. */
function formBody(value: unknown, { properties = {} }: Schema, damage: FormDamage | undefined): Body {
  const members = Object.entries(typeof value === 'object' && value !== null ? value : {})
  const text = members.map(([name, member]) => partsOf(name, member, properties[name] ?? {})).join('') + END
  const bytes = Buffer.from(damage === undefined ? text : damagedForm(text, damage), 'latin1')
  return { headers: { 'content-type': MULTIPART }, bytes }
}

function partsOf(name: string, member: unknown, schema: Schema): string {
  const isFile = (schema.items ?? schema).format === 'binary'
  const file = { filename: 'a.txt', headers: 'Content-Type: text/plain\r\n' }
  return (Array.isArray(member) ? member : [member])
    .map((item: unknown) => part(name, Buffer.from(textOf(item)).toString('latin1'), isFile ? file : {}))
    .join('')
}

export interface FormDamage {
  /** From 0 to 1. */
  readonly place: number
  readonly length: number
  readonly instead: string
}

export const formDamage: fc.Arbitrary<FormDamage> = fc.record({
  place: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.nat(20),
  instead: fc.constantFrom('', '', '\r\n', '--', '\0', '\xff'.repeat(10), ';', '"', ': '),
})

/** Removes, repeats or overwrites a piece of a form. */
export function damagedForm(text: string, { place, length, instead }: FormDamage): string {
  const from = Math.floor(place * text.length)
  return text.slice(0, from) + instead + text.slice(from + length)
}
