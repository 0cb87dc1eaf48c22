import type { Endpoint } from './endpoint.ts'
import type { JsonObject } from './schema-emitter.ts'

/** The headers of responses in the OpenAPI document, without those that every HTTP response has. */

const text = (description: string, pattern?: string): JsonObject => ({
  description,
  schema: { type: 'string', ...(pattern !== undefined && { pattern }) },
})

const headers = {
  'X-Request-Id': text(
    'Names the request in the log of the server, if it has a line there. It is yours, if you sent one',
  ),
  'Cache-Control': text('Whether and how long the response may be cached'),
  ETag: text('Names this state. Send it in If-None-Match, and after reading an evidence in If-Match', '^"[!-~]+"$'),
  Location: text('The path of what was created', '^/'),
  'WWW-Authenticate': text('RFC 9110 requires it. The key belongs into X-API-Key', '^ApiKey '),
  RateLimit: text('Requests that are left (r), and the seconds until there are more (t)', '^"minute";r=\\d+;t=\\d+$'),
  'RateLimit-Policy': text('The limit (q) in a window of seconds (w)', '^"minute";q=\\d+;w=\\d+$'),
  'Retry-After': text('Seconds after which a repetition can succeed', '^\\d+$'),
  Allow: text('The methods of this path', '^[A-Z]+(, [A-Z]+)*$'),
  'Content-Disposition': text('Always an attachment, with the file name', '^attachment'),
  'Accept-Ranges': text('One range of bytes can be requested', '^bytes$'),
  'Content-Range': text('The range that was sent, or the size of the file', '^bytes (\\d+-\\d+|\\*)/\\d+$'),
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
export function headersOf(endpoint: Endpoint, status: number): JsonObject {
  const always = headersWith(endpoint, status)
  return Object.fromEntries([
    ...always.map((name) => [name, { $ref: `#/components/headers/${name}` }] as const),
    ...optionalHeaders(endpoint, status)
      .filter((name) => !always.includes(name))
      .map((name) => [name, headers[name]] as const),
  ])
}

function headersWith(endpoint: Endpoint, status: number): readonly HeaderName[] {
  // This response is sent before there is a request.
  if (status === 431) return ['X-Request-Id']
  const { access, isUnmetered, response, headers: own = [] } = endpoint
  const isSuccess = status < 400
  const isRouted = status !== 405
  return [
    'X-Request-Id',
    ...when(isRouted && access !== 'public' && !isBeforeRouting(status), 'Cache-Control'),
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

/** A malformed path, and too many requests, are also rejected before the endpoint is known. */
const isBeforeRouting = (status: number): boolean => status === 400 || status === 503

/** Headers that only some of these responses have. */
const optionalHeaders = ({ response }: Endpoint, status: number): readonly HeaderName[] => [
  ...when(status < 400 || isBeforeRouting(status), 'Cache-Control'),
  ...when(status < 400 && 'schema' in response && response.media !== undefined, 'Content-Disposition'),
]

const when = (condition: boolean, ...names: readonly HeaderName[]): readonly HeaderName[] => (condition ? names : [])
