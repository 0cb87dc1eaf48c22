import { request, type Agent } from 'node:http'
import type { RandomRequest } from './requests.ts'

export interface ReceivedResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Parsed if it is JSON. */
  readonly body: unknown
}

/** Sends a request as it is: `fetch` would change paths such as `/%2e%2e/`. Throws if the connection fails. */
export function send(
  port: number,
  agent: Agent,
  { method, path, headers, body }: RandomRequest,
): Promise<ReceivedResponse> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(body.length) }
    const sent = request({ host: '127.0.0.1', port, agent, method, path, headers: { ...headers, ...length } })
    sent.on('error', reject)
    sent.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('error', reject)
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        resolve(responseOf(response.statusCode ?? 0, response.rawHeaders, Buffer.concat(chunks))),
      )
    })
    sent.end(body)
  })
}

function responseOf(status: number, raw: readonly string[], bytes: Buffer): ReceivedResponse {
  const headers = new Headers()
  for (let i = 0; i + 1 < raw.length; i += 2) headers.append(raw[i] ?? '', raw[i + 1] ?? '')
  const text = bytes.toString('utf8')
  const isJson = headers.get('content-type')?.startsWith('application/json') === true
  return { status, headers, text, body: isJson && text !== '' ? JSON.parse(text) : undefined }
}

/** What is wrong with a status: of the 5xx, only a 503 that says when to try again is right. */
export function problemOf(status: number, retryAfter: string | null): string | undefined {
  if (status >= 100 && status < 500) return undefined
  return status === 503 && /^\d+$/.test(retryAfter ?? '') ? undefined : `status ${status} without Retry-After`
}
