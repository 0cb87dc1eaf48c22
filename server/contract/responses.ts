import type { TSchema } from '#typebox'
import { codesWith, statusOf, type ResponseCode } from './errors.ts'
import { isKeyless, type Endpoint, type EndpointGroup } from './endpoint.ts'
import type { JsonObject, SchemaEmitter } from './schema-emitter.ts'
import { AuthorizationError, OperationError, VerificationError } from './values.ts'
import { variantsWithStatus } from './verification.ts'

/** The responses of an endpoint in the OpenAPI document, by status. */
export function responses(
  endpoint: Endpoint,
  { errorShape }: EndpointGroup,
  schemas: SchemaEmitter,
): Readonly<Record<string, JsonObject>> {
  const { response } = endpoint
  const success = response.status ?? 200
  const description = 'schema' in response ? 'Done' : response.description
  const result: Record<string, JsonObject> = {
    [success]: { description, content: responseContent(response, success, schemas) },
  }
  for (const [status, text] of Object.entries(response.others ?? {})) {
    const hasContent = status !== '304' && ('schema' in response || status === '206')
    result[status] = {
      description: text,
      ...(hasContent && { content: responseContent(response, Number(status), schemas) }),
    }
  }
  const shape = errorShape === 'verification' ? VerificationError : OperationError
  for (const [status, codes] of failures(endpoint)) result[status] ??= failure(status, codes, shape, schemas)
  result[431] = failure(431, codesWith(431), OperationError, schemas)
  return Object.fromEntries(
    Object.entries(result).map(([status, { description: text, ...rest }]) => [
      status,
      { description: text, headers: headersOf(endpoint, Number(status)), ...rest },
    ]),
  )
}

/** The same responses for `HEAD`. */
export const withoutContent = (all: Readonly<Record<string, JsonObject>>): JsonObject =>
  Object.fromEntries(Object.entries(all).map(([status, { content: _, ...rest }]) => [status, rest]))

/** Bytes, in the way that generators of clients know. */
export const BINARY = { type: 'string', format: 'binary' }

/** The media types of a success. Documents of proofs have other variants for each status. */
function responseContent(response: Endpoint['response'], status: number, schemas: SchemaEmitter): JsonObject {
  if (!('schema' in response)) {
    const { media, content } = response
    const plain = media.startsWith('text/') ? { type: 'string' } : BINARY
    return { [media]: { schema: content === undefined ? plain : schemas.emit(content) } }
  }
  const { schema, media = {} } = response
  const own = response.others?.[404] === undefined ? schema : variantsWithStatus(schema, status)
  const isSuccess = status < 400
  const others = Object.entries(isSuccess ? media : {}).map(([type, each]) => [type, { schema: schemas.emit(each) }])
  return { 'application/json': { schema: schemas.emit(own) }, ...Object.fromEntries(others) }
}

/** An error with its codes, and the body that this group of endpoints uses. */
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

/** The statuses that any endpoint of this kind can have. */
function failureStatuses({ access, body }: Endpoint): readonly number[] {
  const authorization = isKeyless(access) ? [] : access === 'sourceSystem' || access === 'operator' ? [401] : [401, 403]
  return [400, ...authorization, 405, ...(body === undefined ? [] : [413, 415]), 429, 500, 503]
}

const impliedErrors = ({ access, path, idempotent, conditional }: Endpoint): readonly ResponseCode[] => [
  ...(!isKeyless(access) && path.includes('{COMPANY_ID}') ? (['COMPANY_NOT_FOUND'] as const) : []),
  ...(idempotent === true ? (['IDEMPOTENCY_KEY_REUSED'] as const) : []),
  ...(conditional === undefined ? [] : (['VERSION_CONFLICT'] as const)),
]

/** `pattern`: how a value begins. Without `$`, which does not mean the same in every engine. */
const text = (description: string, pattern?: string): JsonObject => ({
  description,
  schema: { type: 'string', ...(pattern !== undefined && { pattern }) },
})

/** The headers of responses, without those that every HTTP response has. */
const headers = {
  'X-Request-Id': text(
    'Names the request in the log of the server, if it has a line there. It is yours, if you sent one',
  ),
  'Cache-Control': text('Whether and how long the response may be cached'),
  ETag: text(
    'Names this state. Send it in If-None-Match when you read it again, and in If-Match when you change it',
    '^"[!-~]+"',
  ),
  Location: text('The path of what was created', '^/'),
  'WWW-Authenticate': text('RFC 9110 requires it. The key belongs into X-API-Key', '^(ApiKey|Bearer)'),
  RateLimit: text(
    'Requests that are left (r), and the seconds until there are more (t)',
    '^"minute";r=[0-9]+;t=[0-9]+',
  ),
  'RateLimit-Policy': text('The limit (q) in a window of seconds (w)', '^"minute";q=[0-9]+;w=[0-9]+'),
  'Retry-After': text('Seconds after which a repetition can succeed', '^[0-9]+'),
  Allow: text('The methods of this path', '^[A-Z]+(, [A-Z]+)*'),
  'Content-Disposition': text('Always an attachment, with the file name', '^attachment'),
  'Accept-Ranges': text('One range of bytes can be requested', '^bytes'),
  'Content-Range': text('The range that was sent, or the size of the file', '^bytes ([0-9]+-[0-9]+|[*])/[0-9]+'),
} satisfies Readonly<Record<string, JsonObject>>

type HeaderName = keyof typeof headers

/** Headers that a response may lack, although the document lists them. */
const OPTIONAL: ReadonlySet<string> = new Set(['RateLimit', 'RateLimit-Policy', 'Retry-After'])

/** The components of the document. */
export const responseHeaders: JsonObject = Object.fromEntries(
  Object.entries(headers).map(([name, header]) => [
    name,
    { ...header, ...(!OPTIONAL.has(name) && { required: true }) },
  ]),
)

/** The headers of an endpoint's responses with a status. */
function headersOf(endpoint: Endpoint, status: number): JsonObject {
  const always = headersWith(endpoint, status)
  return Object.fromEntries([
    ...always.map((name) => [name, { $ref: `#/components/headers/${name}` }] as const),
    ...optionalHeaders(endpoint, status)
      .filter((name) => !always.includes(name))
      .map((name) => [name, headers[name]] as const),
  ])
}

/** The headers that every response with a status has. */
function headersWith(endpoint: Endpoint, status: number): readonly HeaderName[] {
  // This response is sent before there is a request.
  if (status === 431) return ['X-Request-Id']
  const { isUnmetered, response, headers: own = [] } = endpoint
  const isSuccess = status < 400
  const isRouted = status !== 405
  return [
    'X-Request-Id',
    'Cache-Control',
    ...when(isRouted && isUnmetered !== true, 'RateLimit', 'RateLimit-Policy'),
    ...when(isSuccess && response.others?.[304] !== undefined, 'ETag'),
    ...when(isSuccess, ...own),
    ...when(status === 201, 'Location'),
    ...when(status === 401, 'WWW-Authenticate'),
    ...when(status === 405, 'Allow'),
    ...when(status === 206 || status === 416, 'Content-Range'),
    ...when(status === 429 || status === 503, 'Retry-After'),
  ]
}

/** Headers that only some of these responses have. */
const optionalHeaders = ({ response }: Endpoint, status: number): readonly HeaderName[] => [
  ...when(status < 400 && 'schema' in response && response.media !== undefined, 'Content-Disposition'),
]

const when = (condition: boolean, ...names: readonly HeaderName[]): readonly HeaderName[] => (condition ? names : [])
