import { randomBytes } from 'node:crypto'

/** What a step of the demo needs of HTTP: nothing here knows the server. */
export class Client {
  readonly #baseUrl: string
  readonly #apiKey: string | undefined
  readonly #tamper: Tamper | undefined

  constructor(baseUrl: string, { apiKey, tamper }: { readonly apiKey?: string; readonly tamper?: Tamper } = {}) {
    this.#baseUrl = baseUrl
    this.#apiKey = apiKey
    this.#tamper = tamper
  }

  async get(path: string): Promise<unknown> {
    return JSON.parse(await this.text(path)) as unknown
  }

  async text(path: string): Promise<string> {
    const text = await (await this.#send('GET', path)).text()
    return this.#tamper?.text(path, text) ?? text
  }

  /** The body as it comes, never held whole. */
  async *bytes(path: string): AsyncGenerator<Uint8Array, void, undefined> {
    const { body } = await this.#send('GET', path)
    if (body === null) return
    for await (const chunk of body) yield this.#tamper?.bytes(path, chunk) ?? chunk
  }

  /** The status alone, whatever it is. */
  async statusOf(path: string): Promise<number> {
    const response = await fetch(this.#baseUrl + path, { headers: this.#headers() })
    await response.arrayBuffer()
    return response.status
  }

  async json(method: 'POST' | 'PUT' | 'DELETE', path: string, content?: unknown): Promise<unknown> {
    const response = await this.#send(method, path, {
      ...(content !== undefined && { body: JSON.stringify(content), headers: { 'content-type': 'application/json' } }),
    })
    return response.json()
  }

  /** A form with one file, streamed. */
  async form(
    path: string,
    fields: Readonly<Record<string, string>>,
    file: {
      readonly field: string
      readonly name: string
      readonly mimeType: string
      readonly stream: AsyncIterable<Uint8Array>
    },
  ): Promise<unknown> {
    const boundary = randomBytes(16).toString('hex')
    const quoted = file.name.replaceAll(/["\r\n\\]/g, '_')
    async function* body(): AsyncGenerator<Uint8Array, void, undefined> {
      const head = Object.entries(fields).map(
        ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
      )
      yield Buffer.from(
        `${head.join('')}--${boundary}\r\nContent-Disposition: form-data; name="${file.field}"; filename="${quoted}"\r\n` +
          `Content-Type: ${file.mimeType}\r\n\r\n`,
      )
      yield* file.stream
      yield Buffer.from(`\r\n--${boundary}--\r\n`)
    }
    const init = {
      body: body() as unknown as ReadableStream,
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
      duplex: 'half',
    } as const
    return (await this.#send('POST', path, init)).json()
  }

  #headers(): Record<string, string> {
    return this.#apiKey === undefined ? {} : { 'x-api-key': this.#apiKey }
  }

  async #send(method: string, path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { ...this.#headers(), ...(init.headers as Record<string, string> | undefined) }
    const response = await fetch(this.#baseUrl + path, { ...init, method, headers })
    if (response.ok) return response
    throw new Error(`${method} ${path} answered ${response.status}: ${(await response.text()).slice(0, 300)}`)
  }
}

/** What may be changed in one answer each, to show that the demo can fail. */
export const TAMPERINGS = ['event', 'proof', 'stamp', 'file', 'log'] as const
export type Tampering = (typeof TAMPERINGS)[number]

/** Where a tampering strikes: in the first answer of these paths, the first character or byte behind `after`. */
const PLACES: Readonly<Record<Tampering, { readonly path: RegExp; readonly after: RegExp | 'bytes' }>> = {
  event: { path: /disclose=1/, after: /"salt":"/ },
  proof: { path: /\/merkle\/proof\//, after: /"hash":"/ },
  stamp: { path: /\/merkle\/verify\//, after: /"token":".{400}/ },
  file: { path: /\/file\?fileId=/, after: 'bytes' },
  log: { path: /\/tile\/openings\//, after: /^.*\n.{100}/ },
}

/** Changes one byte in one answer of each kind that it is asked for. */
export class Tamper {
  readonly #left: Set<Tampering>

  constructor(kinds: readonly Tampering[]) {
    this.#left = new Set(kinds)
  }

  text(path: string, text: string): string {
    const kind = this.#take(path, false)
    if (kind === undefined) return text
    const found = (PLACES[kind].after as RegExp).exec(text)
    if (found === null) return text
    this.#left.delete(kind)
    const at = found.index + found[0].length
    return text.slice(0, at) + (text[at] === '1' ? '2' : '1') + text.slice(at + 1)
  }

  bytes(path: string, chunk: Uint8Array): Uint8Array {
    const kind = this.#take(path, true)
    if (kind === undefined || chunk.length === 0) return chunk
    this.#left.delete(kind)
    const changed = chunk.slice()
    changed[0] = (changed[0] ?? 0) ^ 1
    return changed
  }

  #take(path: string, isBytes: boolean): Tampering | undefined {
    return [...this.#left].find((kind) => PLACES[kind].path.test(path) && (PLACES[kind].after === 'bytes') === isBytes)
  }
}
