import type { TSchema } from '#typebox'
import { codesWith, statusOf, type ResponseCode } from './errors.ts'
import type { Endpoint, EndpointGroup } from './endpoint.ts'
import { headersOf } from './response-headers.ts'
import type { JsonObject, SchemaEmitter } from './schema-emitter.ts'
import { AuthorizationError, OperationError, VerificationError } from './values.ts'
import { variantsWithStatus } from './verification.ts'

/** The responses of an endpoint in the OpenAPI document, by status. */
export function responses(endpoint: Endpoint, { errorShape }: EndpointGroup, schemas: SchemaEmitter): JsonObject {
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
export const withoutContent = (all: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(all).map(([status, response]) => {
      const { content: _, ...rest } = response as JsonObject
      return [status, rest]
    }),
  )

function responseContent(response: Endpoint['response'], status: number, schemas: SchemaEmitter): JsonObject {
  if (!('schema' in response)) {
    const { media, content } = response
    return { [media]: content === undefined ? {} : { schema: schemas.emit(content) } }
  }
  const { schema, media = {} } = response
  const own = response.others?.[404] === undefined ? schema : variantsWithStatus(schema, status)
  const isSuccess = status < 400
  const others = Object.entries(isSuccess ? media : {}).map(([type, each]) => [type, { schema: schemas.emit(each) }])
  return { 'application/json': { schema: schemas.emit(own) }, ...Object.fromEntries(others) }
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
  const authorization =
    access === 'public' ? [] : access === 'sourceSystem' || access === 'operator' ? [401] : [401, 403]
  return [400, ...authorization, 405, ...(body === undefined ? [] : [413, 415]), 429, 500, 503]
}

const impliedErrors = ({ access, path, idempotent }: Endpoint): readonly ResponseCode[] => [
  ...(access !== 'public' && path.includes('{COMPANY_ID}') ? (['COMPANY_NOT_FOUND'] as const) : []),
  ...(idempotent === true ? (['IDEMPOTENCY_KEY_REUSED'] as const) : []),
]
