import { randomBytes } from 'node:crypto'
import type { Tamper } from './tamper.ts'

export interface ClientOptions {
  readonly apiKey: string
  /** Changes responses, to show that the demo can fail. */
  readonly tamper?: Tamper
}

export interface FilePart {
  readonly field: string
  readonly name: string
  readonly mimeType: string
  readonly stream: AsyncIterable<Uint8Array>
}

/** Sends requests to the service. Throws for a response that is not successful. */
export class Client {
  readonly #baseUrl: string
  readonly #apiKey: string
  readonly #tamper: Tamper | undefined

  constructor(baseUrl: string, { apiKey, tamper }: ClientOptions) {
    this.#baseUrl = baseUrl
    this.#apiKey = apiKey
    this.#tamper = tamper
  }

  async get<T>(path: string): Promise<T> {
    return JSON.parse(await this.text(path)) as T
  }

  async text(path: string): Promise<string> {
    const text = await (await this.#send('GET', path)).text()
    return this.#tamper?.text(path, text) ?? text
  }

  /** Streams the body of a response. */
  async *bytes(path: string): AsyncGenerator<Uint8Array, void, undefined> {
    const { body } = await this.#send('GET', path)
    if (body === null) return
    for await (const chunk of body) yield this.#tamper?.bytes(path, chunk) ?? chunk
  }

  /** Returns the status of a response, also of an unsuccessful one. */
  async statusOf(path: string): Promise<number> {
    const response = await fetch(this.#baseUrl + path, { headers: { 'x-api-key': this.#apiKey } })
    await response.arrayBuffer()
    return response.status
  }

  async json<T>(method: 'POST' | 'PUT' | 'DELETE', path: string, content?: unknown): Promise<T> {
    const response = await this.#send(method, path, {
      ...(content !== undefined && { body: JSON.stringify(content), headers: { 'content-type': 'application/json' } }),
    })
    return (await response.json()) as T
  }

  /** Sends a form with one file, which is streamed. */
  async form<T>(path: string, fields: Readonly<Record<string, string>>, file: FilePart): Promise<T> {
    const boundary = randomBytes(16).toString('hex')
    const init = {
      body: multipart(boundary, fields, file) as unknown as ReadableStream,
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
      duplex: 'half',
    } as const
    return (await (await this.#send('POST', path, init)).json()) as T
  }

  async #send(method: string, path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { 'x-api-key': this.#apiKey, ...(init.headers as Record<string, string> | undefined) }
    const response = await fetch(this.#baseUrl + path, { ...init, method, headers })
    if (response.ok) return response
    throw new Error(`${method} ${path} returned ${response.status}: ${(await response.text()).slice(0, 300)}`)
  }
}

async function* multipart(
  boundary: string,
  fields: Readonly<Record<string, string>>,
  { field, name, mimeType, stream }: FilePart,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (const [key, value] of Object.entries(fields))
    yield Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${key}"\r\n\r\n${value}\r\n`)
  const fileName = name.replaceAll(/["\r\n\\]/g, '_')
  yield Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="${field}"; filename="${fileName}"\r\n` +
      `Content-Type: ${mimeType}\r\n\r\n`,
  )
  yield* stream
  yield Buffer.from(`\r\n--${boundary}--\r\n`)
}
