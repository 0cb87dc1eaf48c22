import type { TSchema } from '#typebox'
import { documentPath, isKeyless, parametersOf, type Endpoint, type EndpointGroup, type FileSlot } from './endpoint.ts'
import { InlineImage } from './files.ts'
import { BINARY, responseHeaders, responses, withoutContent } from './responses.ts'
import { SchemaEmitter, type JsonObject } from './schema-emitter.ts'

/** The OpenAPI 3.1 document. It is made of the endpoints' descriptions and schemas. */

/** What the document is made of. */
export interface DocumentOptions {
  /** `undefined`: not known, so that paths begin at the root of the document's own server. */
  readonly publicUrl: string | undefined
  readonly basePath: string
  readonly version: string
  /** Endpoints below the base path. */
  readonly groups: readonly EndpointGroup[]
  /** Endpoints at the root. */
  readonly rootGroups: readonly EndpointGroup[]
  /** Whether it also lists the JSON bodies of endpoints that accept a form: many generators would prefer them. */
  readonly hasJsonBodies: boolean
}

/** Makes the document. Schemas that have a name in the code become components of that name. */
export function openApiDocument(options: DocumentOptions): JsonObject {
  const { publicUrl, basePath, version, groups, rootGroups, hasJsonBodies } = options
  const schemas = new SchemaEmitter()
  const paths: Record<string, JsonObject> = {}
  const add = (group: EndpointGroup, servers?: readonly JsonObject[]): void => {
    for (const endpoint of group.endpoints) {
      const path = documentPath(endpoint.path)
      paths[path] = {
        ...paths[path],
        ...(servers && { servers }),
        ...operations(endpoint, group, { schemas, hasJsonBodies }),
      }
    }
  }
  for (const group of groups) add(group)
  for (const group of rootGroups) add(group, [{ url: publicUrl ?? '/' }])
  return {
    openapi: '3.1.0',
    info: {
      title: 'Evidence Registry',
      version,
      description:
        'Keeps evidence records per company, binds every change to a hash, seals changes in Merkle batches, ' +
        'and lets anyone verify them.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: publicUrl === undefined ? basePath : publicUrl + basePath }],
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
      },
      headers: responseHeaders,
      schemas: schemas.components(),
    },
  }
}

/** The label by which the API page (http/docs.ts) recognizes the operations that it does not show. */
export const HEAD_BADGE = 'HEAD'

type Emission = Pick<DocumentOptions, 'hasJsonBodies'> & { readonly schemas: SchemaEmitter }

/** The operation of an endpoint. `GET` also has a `HEAD`, with the same headers and without a body. */
function operations(endpoint: Endpoint, group: EndpointGroup, emission: Emission): JsonObject {
  const own = operation(endpoint, group, emission)
  if (endpoint.method !== 'GET') return { [endpoint.method.toLowerCase()]: own }
  const { id, summary } = endpoint
  const head = {
    ...own,
    operationId: `head${id.slice(0, 1).toUpperCase()}${id.slice(1)}`,
    // Leaves it out of the API page.
    'x-badges': [{ label: HEAD_BADGE }],
    summary: `The headers of: ${summary.slice(0, 1).toLowerCase()}${summary.slice(1)}`,
    responses: withoutContent(own.responses),
  }
  return { get: own, head }
}

/** What the document says about one method of a path. */
function operation(endpoint: Endpoint, group: EndpointGroup, emission: Emission) {
  const { id, summary, description, access, body } = endpoint
  const { schemas } = emission
  return {
    operationId: id,
    tags: [group.tag],
    summary,
    ...(description !== undefined && { description }),
    security: security(access),
    parameters: parameters(endpoint, schemas),
    ...(body && { requestBody: { required: true, content: requestContent(endpoint, emission) } }),
    responses: responses(endpoint, group, schemas),
  }
}

/** A file can also be opened without a key. Its token is not a scheme: clients would send the key in its place. */
function security(access: Endpoint['access']): readonly JsonObject[] {
  if (isKeyless(access)) return []
  return access === 'fileToken' ? [{ apiKey: [] }, {}] : [{ apiKey: [] }]
}

/** What each parameter of a path means. The same name means the same at every endpoint. */
const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  COMPANY_ID: 'The company: 1 to 64 of A-Z a-z 0-9 . _ -',
  CATEGORY_ID: "A category's id",
  SUBCATEGORY_ID: "A subcategory's id",
  EVIDENCE_EXTERNAL_ID: "The evidence's external id, percent-encoded: `%2F` is part of it",
  SYSTEM_ID: "A source system's id",
  SHARE_ID: "A share's id",
  ERASURE_ID: "An erasure's id",
  FILE_ID: "A file's id",
  evidenceId: "The evidence's id, or its external id",
  fileId: "The file's id",
  txid: 'A transaction id: 64 hex digits in either case, with or without `0x`',
  batchId: "A batch's id",
  L: 'Level of the tile, from 0',
  N: 'Index and width of the tile as C2SP tlog-tiles writes them; may contain slashes',
}

/** Values that the examples of the request bodies create. Other ids are made by the service. */
const PATH_EXAMPLES: ReadonlyMap<string, string> = new Map([
  ['COMPANY_ID', 'acme'],
  ['EVIDENCE_EXTERNAL_ID', 'WVWZZZ1JZXW000001'],
  ['evidenceId', 'WVWZZZ1JZXW000001'],
])

/** The parameters of the path and the query, and the headers that an endpoint reads. */
function parameters(endpoint: Endpoint, schemas: SchemaEmitter): readonly JsonObject[] {
  const { path, query } = endpoint
  const inPath = parametersOf(path).map((name) => ({
    name,
    in: 'path',
    required: true,
    description: PATH_PARAMETERS[name],
    ...(PATH_EXAMPLES.has(name) && { example: PATH_EXAMPLES.get(name) }),
    schema: { type: 'string' },
  }))
  const { properties = {}, required = [] }: { properties?: Record<string, TSchema>; required?: readonly string[] } =
    query ?? {}
  const inQuery = Object.entries(properties).map(([name, schema]) => {
    const emitted = schemas.emit(schema)
    return { name, in: 'query', required: required.includes(name), schema: emitted }
  })
  return [...inPath, ...inQuery, ...requestHeaders(endpoint)]
}

const REQUEST_HEADERS = {
  idempotent: header(
    'Idempotency-Key',
    'The same key with the same content within 24 hours returns the first success again',
  ),
  conditional: header(
    'If-Match',
    'The ETag that you have of the evidence, the category or the file, or the version of the last event in quotes: ' +
      '412 if it is not the current one',
  ),
  shareSecret: header('X-Share-Secret', 'The secret of the link: what follows its last point'),
  notModified: header('If-None-Match', 'An ETag that you have: 304 if it is still the current one'),
  range: header('Range', 'One range of bytes, such as `bytes=0-1023`'),
  ifRange: header('If-Range', 'An ETag: the range is only sent if it is still the current one'),
}

/** The headers that an endpoint reads follow from its description. */
function requestHeaders({ access, idempotent, conditional, response }: Endpoint): readonly JsonObject[] {
  const { idempotent: key, conditional: match, shareSecret, notModified, range, ifRange } = REQUEST_HEADERS
  return [
    ...(access === 'share' ? [shareSecret] : []),
    ...(idempotent ? [key] : []),
    ...(conditional ? [match] : []),
    ...(response.others?.[304] === undefined ? [] : [notModified]),
    ...(response.others?.[206] === undefined ? [] : [range, ifRange]),
  ]
}

/** An optional header of a request. */
function header(name: string, description: string): JsonObject {
  return { name, in: 'header', required: false, description, schema: { type: 'string' } }
}

/** The media types of a body. A form has the fields of the JSON, and its files. */
function requestContent({ body }: Endpoint, { schemas, hasJsonBodies }: Emission): JsonObject {
  if (body === undefined) return {}
  const { form: shape } = body
  const json = shape === undefined || hasJsonBodies ? jsonContent(body, schemas) : {}
  if (shape === undefined) return json
  const files: JsonObject = Object.assign({}, ...shape.slots.map(fileProperties))
  const form = withExamples(body.schema, new Map(Object.entries(shape.example ?? body.example ?? {})))
  return { 'multipart/form-data': { schema: withProperties(form, files, schemas) }, ...json }
}

type Body = NonNullable<Endpoint['body']>

function jsonContent({ schema, form, example }: Body, schemas: SchemaEmitter): JsonObject {
  const slots = form?.slots ?? []
  const inline = Object.fromEntries(
    slots.filter((slot) => slot.inline).map(({ name }) => [name, schemas.emit(InlineImage)]),
  )
  // RapiDoc, which shows the API page, reads `examples` and no `example`.
  const examples = { example: { value: example } }
  return { 'application/json': { schema: withProperties(schema, inline, schemas), examples } }
}

const FILES = { type: 'array', items: BINARY, description: 'Files, each in a part of this name' }

/** What a schema of fields has: properties, or a choice of schemas that do. A form has the fields of the first one. */
interface ObjectSchema {
  readonly anyOf?: readonly TSchema[]
  readonly properties?: Readonly<Record<string, TSchema>>
}

/** The parts of a form for one slot. Other names of its files are not listed: generated clients need one. */
function fileProperties({ name, many }: FileSlot): JsonObject {
  if (many !== true) return { [name]: { ...BINARY, description: 'A file' } }
  const files = `${name}.items`
  const titles = `Only with files: a JSON array of titles for ${files}, or one title for all of them`
  return { [name]: { type: 'string', description: titles }, [files]: FILES }
}

/** An object schema whose text fields have examples, for forms. */
function withExamples(schema: TSchema, examples: ReadonlyMap<string, unknown>): TSchema {
  const { anyOf: [first] = [], properties = {} }: ObjectSchema = schema
  if (first !== undefined) return withExamples(first, examples)
  const entries = Object.entries(properties).map(([name, property]) => {
    const example = examples.get(name)
    return [name, typeof example === 'string' ? { ...property, examples: [example] } : property]
  })
  return { ...schema, properties: Object.fromEntries(entries) }
}

/** A closed object schema with more properties than its own. */
function withProperties(schema: TSchema, more: JsonObject, schemas: SchemaEmitter): JsonObject {
  if (Object.keys(more).length === 0) return schemas.emit(schema)
  const { properties, ...rest }: ObjectSchema = schema
  return { ...rest, properties: { ...schemas.properties({ ...properties }), ...more } }
}
