import { errorOf, EvidenceRegistryError } from './error.ts'
import { networkReason } from './network-reason.ts'
import { formData, isRepeatable, multipartBody, partsOf, type Part } from './form.ts'
import type { ClientOptions, RequestOptions, RetryOptions } from './options.ts'
import { pauseBeforeRepetition, sleep } from './retry.ts'
import { splitRequest, type Fields, type Route } from './route.ts'
import { fetchWithProgress, hasXhr } from './xhr.ts'

/** The options of a client, checked and complete. */
export interface Settings {
  readonly baseUrl: string
  /** The base address without the base path. */
  readonly rootUrl: string
  readonly apiKey: string | undefined
  readonly companyId: string | undefined
  readonly retry: RetryOptions
  readonly fetch: NonNullable<ClientOptions['fetch']>
}

/** A request that is ready to be sent, possibly several times. */
interface Prepared {
  readonly call: string
  readonly route: Route
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | readonly Part[] | undefined
}

/** Sends a request and repeats it if that is safe. Returns what the route promises. */
export async function send(
  settings: Settings,
  route: Route,
  request: Fields,
  options: RequestOptions,
): Promise<unknown> {
  const prepared = prepare(settings, route, request, options)
  const { body } = prepared
  const canRepeat = typeof body !== 'object' || isRepeatable(body)
  for (let repetitions = 0; ; repetitions++) {
    try {
      return await sendOnce(settings, prepared, options)
    } catch (error) {
      const { retry } = settings
      const pauseMs = pauseBeforeRepetition({
        error,
        repetitions,
        repeat: route.repeat,
        options: canRepeat ? retry : { ...retry, retries: 0 },
        random: Math.random,
      })
      if (pauseMs === undefined) throw error
      await sleep(pauseMs, options.signal)
    }
  }
}

/** Everything of a request that stays the same if it is repeated, its idempotency key above all. */
function prepare(settings: Settings, route: Route, request: Fields, options: RequestOptions): Prepared {
  const { companyId, baseUrl, rootUrl, apiKey } = settings
  const isOfCompany = route.path.includes('{companyId}')
  const { target, body } = splitRequest(route, isOfCompany ? { companyId, ...request } : request)
  const hasBody = route.method !== 'GET' && route.method !== 'HEAD' && route.method !== 'DELETE'
  const parts = partsOf(body, route.files)
  const headers = {
    ...(route.keyed === true && apiKey !== undefined && request['token'] === undefined && { 'X-API-Key': apiKey }),
    ...(hasBody && parts === undefined && { 'Content-Type': 'application/json' }),
    ...(route.repeat === 'idempotent' && { 'Idempotency-Key': options.idempotencyKey ?? randomHex(16) }),
    ...(options.ifMatch !== undefined && { 'If-Match': entityTag(options.ifMatch) }),
    ...options.headers,
  }
  for (const [name, value] of Object.entries(headers)) assertHeader(name, value)
  return {
    call: `${route.method} ${target.replace(/\?.*/, '')}`,
    route,
    url: (route.root === true ? rootUrl : baseUrl) + target,
    headers,
    body: parts ?? (hasBody ? JSON.stringify(body) : undefined),
  }
}

/** Throws a `TypeError` without the value, which `fetch` would print, also that of a secret. */
export function assertHeader(name: string, value: string): void {
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
    throw new TypeError(
      `${name} must not contain a line break or another character that HTTP does not allow in a header`,
    )
}

const entityTag = (value: number | string): string => (typeof value === 'number' ? `"${value}"` : value)

/** `crypto.randomUUID` exists only on pages that were loaded over https. */
const randomHex = (bytes: number): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, '0')).join('')

/** One attempt. Turns every failure into an `EvidenceRegistryError`. */
async function sendOnce(settings: Settings, prepared: Prepared, options: RequestOptions): Promise<unknown> {
  const { call, route } = prepared
  options.signal?.throwIfAborted()
  try {
    const response = await exchange(settings, prepared, options)
    const isUnchanged = response.status === 304 && route.result === 'response'
    if (!response.ok && !isUnchanged) throw await errorOf(response, call)
    return await resultOf(response, prepared)
  } catch (error) {
    options.signal?.throwIfAborted()
    if (error instanceof EvidenceRegistryError) throw error
    throw new EvidenceRegistryError(`${call}: there was no complete response: ${networkReason(error)}`, {
      code: 'NETWORK_ERROR',
      status: 0,
      cause: error,
    })
  }
}

/** Sends the request in the way that its body and the platform need. */
async function exchange(settings: Settings, prepared: Prepared, options: RequestOptions): Promise<Response> {
  const { call, url, route, headers, body } = prepared
  const { signal, onProgress } = options
  // A redirect could send the API key to another server, so `fetch` follows none. Only `fetchWithProgress` cannot.
  const init = { method: route.method, headers, redirect: 'error', ...(signal && { signal }) } as const
  if (typeof body !== 'object') return settings.fetch(url, { ...init, ...(body !== undefined && { body }) })
  if (isNode()) return streamForm(settings, prepared, body, options)
  const form = await formData(body)
  if (onProgress === undefined || !hasXhr()) return settings.fetch(url, { ...init, body: form })
  return fetchWithProgress({ call, url, method: route.method, headers, body: form, signal, onProgress })
}

/** What Node has globally. Browsers have no `process`, and their types do not contain it. */
interface Platform {
  readonly fetch: unknown
  readonly process?: { readonly versions?: { readonly node?: unknown } }
}
const { process }: Platform = globalThis
const isNode = (): boolean => typeof process?.versions?.node === 'string'

/** Sends a form from Node without holding it in memory. */
async function streamForm(
  { fetch }: Settings,
  { url, route, headers }: Prepared,
  parts: readonly Part[],
  { signal, onProgress }: RequestOptions,
): Promise<Response> {
  const { contentType, totalBytes, stream } = multipartBody(parts, `----${randomHex(16)}`)
  let hasFailed = false
  async function* counted(): AsyncGenerator<Uint8Array, void, undefined> {
    let sentBytes = 0
    for await (const chunk of stream) {
      // Node reads on after a request has failed, so the stream is ended here.
      if (hasFailed) return
      yield chunk
      sentBytes += chunk.length
      onProgress?.({ sentBytes, ...(totalBytes !== undefined && { totalBytes }) })
    }
  }
  const form = { ...headers, 'Content-Type': contentType }
  const init = { method: route.method, headers: form, duplex: 'half', redirect: 'error' } as const
  try {
    // eslint-disable-next-line typescript/no-unsafe-type-assertion -- Node accepts it as a body
    const body = counted() as unknown as NonNullable<RequestInit['body']>
    return await fetch(url, { ...init, body, ...(signal && { signal }) })
  } catch (error) {
    hasFailed = true
    throw error
  }
}

/** What the route promises of a response. */
async function resultOf(response: Response, { call, route }: Prepared): Promise<unknown> {
  if (route.result === 'response') return response
  const text = await response.text()
  if (route.result === 'text') return text
  try {
    return JSON.parse(text)
  } catch (cause) {
    const { status } = response
    throw new EvidenceRegistryError(`${call}: the response is not JSON`, {
      code: 'INVALID_RESPONSE',
      status,
      body: text,
      cause,
    })
  }
}
