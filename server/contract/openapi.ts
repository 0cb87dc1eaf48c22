import type { TSchema } from 'typebox'
import { codesWith, statusOf, type ResponseCode } from '../http/errors.ts'
import { documentPath, parametersOf, type Endpoint, type EndpointGroup, type FileSlot } from './endpoint.ts'
import { InlineImage } from './files.ts'
import { SchemaEmitter, type JsonObject } from './schema-emitter.ts'
import { AuthorizationError, OperationError, VerificationError } from './values.ts'

/** The OpenAPI 3.1 document. It is made of the endpoints' descriptions and schemas. */

export interface DocumentOptions {
  readonly publicUrl: string
  readonly basePath: string
  readonly version: string
  /** Endpoints below the base path. */
  readonly groups: readonly EndpointGroup[]
  /** Endpoints at the root. */
  readonly rootGroups: readonly EndpointGroup[]
}

export function openApiDocument({ publicUrl, basePath, version, groups, rootGroups }: DocumentOptions): JsonObject {
  const schemas = new SchemaEmitter()
  const paths: Record<string, JsonObject> = {}
  const add = (group: EndpointGroup, servers?: readonly JsonObject[]): void => {
    for (const endpoint of group.endpoints) {
      const path = documentPath(endpoint.path)
      paths[path] = {
        ...paths[path],
        ...(servers && { servers }),
        [endpoint.method.toLowerCase()]: operation(endpoint, group, schemas),
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
        'Keeps evidence records per company, binds every change to a hash, seals changes in Merkle batches, and lets anyone verify them.',
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
          description: 'The key of a source system, or the operator key',
        },
        fileToken: { type: 'apiKey', in: 'query', name: 'token', description: 'Opens one file for five minutes' },
      },
      schemas: schemas.components(),
    },
  }
}

function operation(endpoint: Endpoint, group: EndpointGroup, schemas: SchemaEmitter): JsonObject {
  const { id, summary, description, access, body } = endpoint
  return {
    operationId: id,
    tags: [group.tag],
    summary,
    ...(description !== undefined && { description }),
    security: security(access),
    parameters: parameters(endpoint, schemas),
    ...(body && { requestBody: { required: true, content: requestContent(endpoint, schemas) } }),
    responses: responses(endpoint, group, schemas),
  }
}

function security(access: Endpoint['access']): readonly JsonObject[] {
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
  N: 'Index and width of the tile as C2SP tlog-tiles writes them; may contain slashes',
}

function parameters(
  { path, query, idempotent, conditional, access }: Endpoint,
  schemas: SchemaEmitter,
): readonly JsonObject[] {
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
    // The token is a security scheme.
    .filter(([name]) => !(access === 'fileToken' && name === 'token'))
    .map(([name, schema]) => {
      const emitted = schemas.emit(schema)
      return { name, in: 'query', required: required.includes(name), schema: emitted }
    })
  const headers = [
    ...(idempotent
      ? [
          header(
            'Idempotency-Key',
            'The same key with the same content within 24 hours returns the first success again',
          ),
        ]
      : []),
    ...(conditional ? [header('If-Match', 'Version of the last event that you know, in quotes')] : []),
  ]
  return [...inPath, ...inQuery, ...headers]
}

const header = (name: string, description: string): JsonObject => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string' },
})

function requestContent({ body }: Endpoint, schemas: SchemaEmitter): JsonObject {
  if (body === undefined) return {}
  const slots = body.form?.slots ?? []
  const inline = Object.fromEntries(
    slots.filter((slot) => slot.inline).map(({ name }) => [name, schemas.emit(InlineImage)]),
  )
  const json = { 'application/json': { schema: withProperties(body.schema, inline, schemas), example: body.example } }
  if (body.form === undefined) return json
  const files = Object.assign({}, ...slots.map(fileProperties)) as JsonObject
  return { ...json, 'multipart/form-data': { schema: withProperties(body.schema, files, schemas) } }
}

const BINARY = { type: 'string', contentMediaType: 'application/octet-stream' }
const BINARIES = { type: 'array', items: BINARY }
const TITLES = { type: 'string', description: 'A JSON array of titles for the files, or one title for all' }

function fileProperties({ name, aliases = [], many }: FileSlot): JsonObject {
  if (many !== true) return { [name]: BINARY }
  return { [name]: { anyOf: [BINARIES, TITLES] }, ...Object.fromEntries(aliases.map((alias) => [alias, BINARIES])) }
}

/** A closed object schema with more properties than its own; of a choice, its first one. */
function withProperties(schema: TSchema, more: JsonObject, schemas: SchemaEmitter): unknown {
  if (Object.keys(more).length === 0) return schemas.emit(schema)
  const { anyOf, properties, ...rest } = schema as { anyOf?: readonly TSchema[]; properties?: JsonObject }
  if (anyOf !== undefined)
    return { anyOf: anyOf.map((choice, i) => (i === 0 ? withProperties(choice, more, schemas) : schemas.emit(choice))) }
  return { ...rest, properties: { ...(schemas.emit({ ...properties }) as JsonObject), ...more } }
}

function responses(endpoint: Endpoint, { errorShape }: EndpointGroup, schemas: SchemaEmitter): JsonObject {
  const { response } = endpoint
  const content = responseContent(response, schemas)
  const description = 'schema' in response ? 'Done' : response.description
  const result: Record<string, JsonObject> = { [response.status ?? 200]: { description, content } }
  for (const [status, text] of Object.entries(response.others ?? {})) {
    const hasContent = 'schema' in response || status === '206'
    result[status] = { description: text, ...(hasContent && { content }) }
  }
  const shape = errorShape === 'verification' ? VerificationError : OperationError
  for (const [status, codes] of failures(endpoint)) result[status] ??= failure(status, codes, shape, schemas)
  return result
}

function responseContent(response: Endpoint['response'], schemas: SchemaEmitter): JsonObject {
  if (!('schema' in response)) {
    const { media, content } = response
    return { [media]: content === undefined ? {} : { schema: schemas.emit(content) } }
  }
  const others = Object.entries(response.media ?? {}).map(([media, schema]) => [
    media,
    { schema: schemas.emit(schema) },
  ])
  return { 'application/json': { schema: schemas.emit(response.schema) }, ...Object.fromEntries(others) }
}

function failure(status: number, codes: readonly ResponseCode[], shape: TSchema, schemas: SchemaEmitter): JsonObject {
  const isAuthorization = status === 401 || status === 403
  const schema = schemas.emit(isAuthorization ? AuthorizationError : shape)
  const description = status === 401 ? 'Unauthorized' : status === 403 ? 'Forbidden resource' : codes.join(', ')
  return { description, content: { 'application/json': { schema } } }
}

/**
 * The codes that an endpoint may return, by status: those that follow from its description, and those that it names.
 */
function failures(endpoint: Endpoint): ReadonlyMap<number, readonly ResponseCode[]> {
  const codes = new Map<number, ResponseCode[]>()
  for (const status of failureStatuses(endpoint)) codes.set(status, [...codesWith(status)])
  if (endpoint.body === undefined) codes.set(400, ['VALIDATION_ERROR'])
  for (const code of new Set([...(endpoint.errors ?? []), ...impliedErrors(endpoint)])) {
    const status = statusOf(code)
    codes.set(status, [...(codes.get(status) ?? []), code])
  }
  return new Map([...codes].sort(([a], [b]) => a - b))
}

function failureStatuses({ access, body }: Endpoint): readonly number[] {
  const authorization = access === 'public' ? [] : access === 'sourceSystem' ? [401] : [401, 403]
  return [400, ...authorization, ...(body === undefined ? [] : [413, 415]), 429, 500, 503]
}

const impliedErrors = ({ access, path, idempotent }: Endpoint): readonly ResponseCode[] => [
  ...(access !== 'public' && path.includes('{COMPANY_ID}') ? (['COMPANY_NOT_FOUND'] as const) : []),
  ...(idempotent === true ? (['IDEMPOTENCY_KEY_REUSED'] as const) : []),
]
