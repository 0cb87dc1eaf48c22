import type { TSchema } from 'typebox'
import * as proofShapes from '../../core/registry/proof/schemas.ts'
import * as coreShapes from '../../core/registry/schemas.ts'
import { codesWith, statusOf } from '../http/errors.ts'
import { documentPath, parametersOf, type Endpoint, type EndpointGroup } from './endpoint.ts'
import type { FileSlot } from '../http/form.ts'
import * as httpShapes from './shapes.ts'
import { INERT_TYPES } from '../http/download.ts'

/**
 * The OpenAPI 3.1 document, made of the endpoints' descriptions and of the very schemas that validate. A schema that has a
 * name in the code is a component of that name.
 */

type Json = Record<string, unknown>

export interface DocumentOptions {
  readonly publicUrl: string
  readonly basePath: string
  readonly version: string
  /** Endpoints below the base path. */
  readonly groups: readonly EndpointGroup[]
  /** Endpoints at the root. */
  readonly rootGroups: readonly EndpointGroup[]
}

export function openApiDocument({ publicUrl, basePath, version, groups, rootGroups }: DocumentOptions): Json {
  const schemas = new SchemaEmitter()
  const paths: Record<string, Json> = {}
  const add = (group: EndpointGroup, servers?: readonly Json[]): void => {
    for (const endpoint of group.endpoints) {
      const path = documentPath(endpoint.path)
      paths[path] = {
        ...paths[path],
        ...(servers && { servers }),
        [endpoint.method.toLowerCase()]: operation(endpoint, group.tag, schemas),
      }
    }
  }
  for (const group of groups) add(group)
  for (const group of rootGroups) add(group, [{ url: publicUrl }])
  return {
    openapi: '3.1.0',
    info: {
      title: 'Evidence Registry',
      version,
      description:
        'Keeps evidence records per company, binds every change to a hash, seals changes in Merkle batches, and lets anyone check it all.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: `${publicUrl}${basePath}` }],
    tags: [...groups, ...rootGroups].map(({ tag, description }) => ({ name: tag, description })),
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'X-API-Key',
          description: "A source system's key, or the operator's",
        },
        fileToken: { type: 'apiKey', in: 'query', name: 'token', description: 'Opens one file for five minutes' },
      },
      schemas: schemas.components(),
    },
  }
}

/** Schemas with a name become references; all else is written where it stands. */
class SchemaEmitter {
  readonly #names = new Map<unknown, string>()
  readonly #used = new Map<string, unknown>()

  constructor() {
    for (const shapes of [coreShapes, proofShapes, httpShapes])
      for (const [name, value] of Object.entries<unknown>(shapes)) {
        if (typeof value === 'object' && !this.#names.has(value)) this.#names.set(value, name)
      }
  }

  emit(schema: unknown): unknown {
    const name = this.#names.get(schema)
    if (name === undefined) return this.#write(schema)
    if (!this.#used.has(name)) {
      this.#used.set(name, undefined)
      this.#used.set(name, this.#write(schema))
    }
    return { $ref: `#/components/schemas/${name}` }
  }

  components(): Json {
    return Object.fromEntries([...this.#used].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  #write(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((item) => this.emit(item))
    if (typeof schema !== 'object' || schema === null) return schema
    const out: Json = {}
    for (const [key, value] of Object.entries(schema)) {
      if (key === '$id') continue
      if (key === 'patternProperties') out['additionalProperties'] = this.emit(Object.values(value as object)[0])
      // A literal belongs to the instance, not to the schema.
      else out[key] = key === 'enum' || key === 'const' || key === 'required' ? value : this.emit(value)
    }
    if (Array.isArray(out['enum']) && out['type'] === undefined)
      out['type'] = typeof (out['enum'] as unknown[])[0] === 'number' ? 'integer' : 'string'
    return out
  }
}

function operation(endpoint: Endpoint, tag: string, schemas: SchemaEmitter): Json {
  const { id, summary, description, access, body } = endpoint
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    security: security(access),
    parameters: parameters(endpoint, schemas),
    ...(body && { requestBody: { required: true, content: requestContent(endpoint, schemas) } }),
    responses: responses(endpoint, schemas),
  }
}

function security(access: Endpoint['access']): readonly Json[] {
  if (access === 'public') return []
  return access === 'fileToken' ? [{ apiKey: [] }, { fileToken: [] }] : [{ apiKey: [] }]
}

const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  COMPANY_ID: 'The company: 1 to 64 of A-Z a-z 0-9 . _ -',
  CATEGORY_ID: "A category's id",
  SUBCATEGORY_ID: "A subcategory's id",
  EVIDENCE_EXTERNAL_ID: "The evidence's external id, percent-encoded: `%2F` is part of it",
  SYSTEM_ID: "A source system's id",
  evidenceId: "The evidence's id, or its external id",
  fileId: "The file's id",
  txid: 'A transaction id: 64 lowercase hex digits',
  batchId: "A batch's id",
  L: 'Level of the tile, from 0',
  N: 'Place of the tile as C2SP tlog-tiles writes it; may hold slashes',
}

function parameters(
  { path, query, idempotent, conditional, access }: Endpoint,
  schemas: SchemaEmitter,
): readonly Json[] {
  const inPath = parametersOf(path).map((name) => ({
    name,
    in: 'path',
    required: true,
    description: PATH_PARAMETERS[name],
    schema: { type: 'string' },
  }))
  const { properties = {}, required = [] }: { properties?: Record<string, TSchema>; required?: readonly string[] } =
    query ?? {}
  const inQuery = Object.entries(properties)
    // The token is a security scheme of its own.
    .filter(([name]) => !(access === 'fileToken' && name === 'token'))
    .map(([name, schema]) => {
      const emitted = schemas.emit(name === 'mimeType' ? { ...schema, enum: INERT_TYPES } : schema)
      return { name, in: 'query', required: required.includes(name), schema: emitted }
    })
  const headers = [
    ...(idempotent
      ? [header('Idempotency-Key', 'The same key with the same content within 24 hours gets the first success again')]
      : []),
    ...(conditional ? [header('If-Match', 'Version of the last event that you know, in quotes')] : []),
  ]
  return [...inPath, ...inQuery, ...headers]
}

const header = (name: string, description: string): Json => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string' },
})

function requestContent({ body }: Endpoint, schemas: SchemaEmitter): Json {
  if (body === undefined) return {}
  const slots = body.form?.slots ?? []
  const inline = Object.fromEntries(
    slots.filter((slot) => slot.inline).map(({ name }) => [name, schemas.emit(httpShapes.InlineImage)]),
  )
  const json = { 'application/json': { schema: withProperties(body.schema, inline, schemas), example: body.example } }
  if (body.form === undefined) return json
  const files = Object.assign({}, ...slots.map(fileProperties)) as Json
  return { ...json, 'multipart/form-data': { schema: withProperties(body.schema, files, schemas) } }
}

const BINARY = { type: 'string', contentMediaType: 'application/octet-stream' }
const BINARIES = { type: 'array', items: BINARY }
const TITLES = { type: 'string', description: 'Empty, or a JSON array of titles for the files' }

function fileProperties({ name, aliases = [], many }: FileSlot): Json {
  if (many !== true) return { [name]: BINARY }
  return { [name]: { anyOf: [BINARIES, TITLES] }, ...Object.fromEntries(aliases.map((alias) => [alias, BINARIES])) }
}

/** A closed object schema with more properties than its own; of a choice, its first one. */
function withProperties(schema: TSchema, more: Json, schemas: SchemaEmitter): unknown {
  if (Object.keys(more).length === 0) return schemas.emit(schema)
  const { anyOf, properties, ...rest } = schema as { anyOf?: readonly TSchema[]; properties?: Json }
  if (anyOf !== undefined)
    return { anyOf: anyOf.map((choice, i) => (i === 0 ? withProperties(choice, more, schemas) : schemas.emit(choice))) }
  return { ...rest, properties: { ...(schemas.emit({ ...properties }) as Json), ...more } }
}

function responses(endpoint: Endpoint, schemas: SchemaEmitter): Json {
  const { answer, path } = endpoint
  const found: Record<string, Json> = {}
  const ok = 'schema' in answer ? (answer.status ?? 200) : 200
  found[ok] =
    'schema' in answer
      ? { description: 'Done', content: { 'application/json': { schema: schemas.emit(answer.schema) } } }
      : { description: answer.description, content: { [answer.media]: {} } }
  for (const [status, description] of Object.entries(answer.others ?? {})) {
    const content =
      'schema' in answer
        ? { content: { 'application/json': { schema: schemas.emit(answer.schema) } } }
        : status === '206' && 'media' in answer
          ? { content: { [answer.media]: {} } }
          : {}
    found[status] = { description, ...content }
  }
  const shape = path.startsWith('/merkle/') ? httpShapes.VerificationError : httpShapes.OperationError
  for (const [status, codes] of failures(endpoint)) {
    if (found[status] !== undefined) continue
    const authorization = status === 401 || status === 403
    const schema = schemas.emit(authorization ? httpShapes.AuthorizationError : shape)
    found[status] = {
      description: authorization ? (status === 401 ? 'Unauthorized' : 'Forbidden resource') : codes.join(', '),
      content: { 'application/json': { schema } },
    }
  }
  return found
}

/** The codes that an endpoint may answer, by status: those that follow from its description, and those that it names. */
function failures({ access, body, path, errors = [], idempotent }: Endpoint): ReadonlyMap<number, readonly string[]> {
  const codes = new Set<string>(errors)
  const statuses = new Set<number>([400, 429, 500, 503])
  if (access !== 'public') for (const status of [401, 403]) statuses.add(status)
  if (access === 'sourceSystem') statuses.delete(403)
  if (access !== 'public' && path.includes('{COMPANY_ID}')) codes.add('COMPANY_NOT_FOUND')
  if (idempotent) codes.add('IDEMPOTENCY_KEY_REUSED')
  const found = new Map<number, string[]>()
  for (const status of statuses) found.set(status, [...codesWith(status)])
  if (body === undefined) found.set(400, ['VALIDATION_ERROR'])
  else for (const status of [413, 415]) found.set(status, [...codesWith(status)])
  for (const code of codes) {
    const status = statusOf(code as Parameters<typeof statusOf>[0])
    found.set(status, [...(found.get(status) ?? []), code])
  }
  return new Map([...found].sort(([a], [b]) => a - b))
}
