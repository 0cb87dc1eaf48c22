import { EvidenceRegistryError } from './error.ts'
import type { UploadProgress } from './options.ts'

/** The parts of `XMLHttpRequest` that this module uses, because the types of Node do not contain it. */
interface Xhr {
  responseType: string
  readonly status: number
  /** The address after redirects; empty if it is not known. */
  readonly responseURL: string
  readonly response: ArrayBuffer
  readonly upload: { addEventListener(type: 'progress', listener: (event: ProgressEvent) => void): void }
  addEventListener(type: 'load' | 'error', listener: () => void): void
  open(method: string, url: string): void
  setRequestHeader(name: string, value: string): void
  getAllResponseHeaders(): string
  send(body: FormData): void
  abort(): void
}

interface ProgressEvent {
  readonly loaded: number
  readonly total: number
}

/** What a browser has globally; Node has no `XMLHttpRequest`. */
interface Platform {
  readonly fetch: unknown
  readonly XMLHttpRequest?: new () => Xhr
}

/** `undefined` outside of browsers. */
function constructorOfXhr(): (new () => Xhr) | undefined {
  const platform: Platform = globalThis
  return platform.XMLHttpRequest
}

export const hasXhr = (): boolean => constructorOfXhr() !== undefined

interface XhrRequest {
  /** For messages. */
  readonly call: string
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: FormData
  readonly signal: AbortSignal | undefined
  readonly onProgress: (progress: UploadProgress) => void
}

/**
 * Sends a form as `fetch` does. `fetch` itself does not show the progress of an upload. An `XMLHttpRequest` follows
 * redirects, and cannot be told not to: it rejects afterwards, when the other address has received the request.
 */
export function fetchWithProgress({
  call,
  url,
  method,
  headers,
  body,
  signal,
  onProgress,
}: XhrRequest): Promise<Response> {
  const Constructor = constructorOfXhr()
  if (Constructor === undefined) throw new TypeError('There is no XMLHttpRequest')
  const xhr = new Constructor()
  return new Promise<Response>((resolve, reject) => {
    signal?.throwIfAborted()
    const abort = (): void => {
      xhr.abort()
      reject(signal?.reason)
    }
    const end = (): void => signal?.removeEventListener('abort', abort)
    signal?.addEventListener('abort', abort, { once: true })
    xhr.open(method, url)
    xhr.responseType = 'arraybuffer'
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value)
    xhr.upload.addEventListener('progress', ({ loaded, total }) => onProgress({ sentBytes: loaded, totalBytes: total }))
    xhr.addEventListener('load', () => {
      end()
      const { status, responseURL } = xhr
      if (isRedirected(url, responseURL)) {
        const message = `${call}: the request was redirected to ${responseURL}`
        // Not `NETWORK_ERROR`, which would send it to the other address again.
        reject(new EvidenceRegistryError(message, { code: 'INVALID_RESPONSE', status }))
      } else resolve(new Response(xhr.response, { status, headers: headersOf(xhr) }))
    })
    xhr.addEventListener('error', () => {
      end()
      reject(new TypeError('The request failed'))
    })
    xhr.send(body)
  })
}

/**
 * Whether another address responded. A browser may itself replace http by https, so that difference does not count. A
 * redirect that leads back to `url` is not found.
 */
const isRedirected = (url: string, responseUrl: string): boolean =>
  responseUrl !== '' && withTls(responseUrl) !== withTls(url)
const withTls = (url: string): string => new URL(url).href.replace(/^http:/, 'https:')

function headersOf(xhr: Xhr): Headers {
  const headers = new Headers()
  for (const line of xhr.getAllResponseHeaders().trim().split('\r\n')) {
    const [name = '', ...value] = line.split(':')
    if (name !== '') headers.append(name, value.join(':').trim())
  }
  return headers
}
