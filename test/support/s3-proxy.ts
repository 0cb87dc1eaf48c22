import { once } from 'node:events'
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'

/** What goes wrong with one request. */
export type Fault =
  /** This status, and nothing is passed on. */
  | { readonly answer: number }
  /** The connection breaks, and nothing is passed on. */
  | 'refuse'
  /** Carried out, and the connection breaks where the answer should come. */
  | 'lose'
  /** Carried out, and no answer ever comes. */
  | 'hang'
  /** The connection breaks when so many bytes of the request's body have come. */
  | { readonly cutUploadAfter: number }
  /** Carried out, and the answer has other headers. */
  | { readonly headers: Readonly<Record<string, string>> }
  /** The answer's body breaks off after so many bytes. */
  | { readonly cutAfter: number }
  /** The answer's body stops after so many bytes, and the connection stays. */
  | { readonly stallAfter: number }

type Matches = (request: {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
}) => boolean

/** Those of requests that are passed on. */
type PassedFault = Exclude<Fault, 'refuse' | { readonly answer: number } | { readonly cutUploadAfter: number }>

interface Armed {
  readonly matches: Matches
  readonly fault: Fault
  left: number
}

/** An HTTP proxy before a real service: every request goes through unchanged, but for those that a test told it to spoil. */
export class ChaosProxy {
  readonly port: number
  /** `METHOD /path?query` of each request that came. */
  readonly requests: string[] = []
  /** Faults that happened. */
  fired = 0
  readonly #server: Server
  readonly #upstreamPort: number
  #armed: Armed[] = []

  private constructor(server: Server, upstreamPort: number) {
    this.#server = server
    this.#upstreamPort = upstreamPort
    this.port = (server.address() as AddressInfo).port
    server.on('request', (req: IncomingMessage, res: ServerResponse) => this.#handle(req, res))
  }

  static async start(upstreamPort: number): Promise<ChaosProxy> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new ChaosProxy(server, upstreamPort)
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** The next `times` requests that match go wrong. */
  spoil(matches: Matches, fault: Fault, times = 1): void {
    this.#armed.push({ matches, fault, left: times })
  }

  /** Nothing goes wrong any more, and nothing was asked. */
  calm(): void {
    this.#armed = []
    this.requests.length = 0
    this.fired = 0
  }

  async stop(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  #handle(req: IncomingMessage, res: ServerResponse): void {
    const asked = { method: req.method ?? '', url: req.url ?? '', headers: req.headers }
    this.requests.push(`${asked.method} ${asked.url}`)
    const armed = this.#armed.find(({ matches, left }) => left > 0 && matches(asked))
    if (armed === undefined) return this.#pass(req, res, undefined)
    armed.left -= 1
    this.fired += 1
    const { fault } = armed
    if (fault === 'refuse') res.socket?.resetAndDestroy()
    else if (typeof fault === 'object' && 'answer' in fault) {
      req.resume()
      req.on('end', () => res.writeHead(fault.answer).end())
    } else if (typeof fault === 'object' && 'cutUploadAfter' in fault) {
      let left = fault.cutUploadAfter
      req.on('data', (chunk: Buffer) => {
        left -= chunk.length
        if (left <= 0) res.socket?.resetAndDestroy()
      })
    } else this.#pass(req, res, fault)
  }

  #pass(req: IncomingMessage, res: ServerResponse, fault: PassedFault | undefined): void {
    const { method, url: path, headers } = req
    const upstream = request({ host: '127.0.0.1', port: this.#upstreamPort, method, path, headers, agent: false })
    upstream.on('error', () => res.socket?.resetAndDestroy())
    upstream.on('response', (answer) => {
      if (fault === 'lose' || fault === 'hang') {
        answer.resume()
        if (fault === 'lose') answer.on('end', () => res.socket?.resetAndDestroy())
        return
      }
      const changed = fault !== undefined && 'headers' in fault ? fault.headers : {}
      res.writeHead(answer.statusCode ?? 502, { ...answer.headers, ...changed })
      if (fault === undefined || 'headers' in fault) pipeline(answer, res, () => undefined)
      else spoilBody(answer, res, fault)
    })
    // A client that goes away takes the request with it.
    pipeline(req, upstream, () => undefined)
    res.on('close', () => {
      if (fault !== 'lose' && fault !== 'hang') upstream.destroy()
    })
  }
}

function spoilBody(
  answer: IncomingMessage,
  res: ServerResponse,
  fault: { readonly cutAfter: number } | { readonly stallAfter: number },
): void {
  let left = 'cutAfter' in fault ? fault.cutAfter : fault.stallAfter
  answer.on('data', (chunk: Buffer) => {
    const given = chunk.subarray(0, left)
    left -= given.length
    res.write(given, () => {
      if (left === 0 && 'cutAfter' in fault) res.socket?.resetAndDestroy()
    })
    if (left === 0) answer.pause()
  })
}

const isUploadPart = (url: string): boolean => url.includes('partNumber=')

/** The requests that the adapter makes, by what they are for. */
export const REQUESTS = {
  put: ({ method, headers }) => method === 'PUT' && headers['x-amz-meta-evidence-put'] !== undefined,
  claim: ({ method, headers }) => method === 'PUT' && headers['x-amz-meta-evidence-claim'] !== undefined,
  start: ({ method, url }) => method === 'POST' && /[?&]uploads/.test(url),
  part: ({ method, url }) => method === 'PUT' && isUploadPart(url),
  complete: ({ method, url }) => method === 'POST' && url.includes('uploadId='),
  abort: ({ method, url }) => method === 'DELETE' && url.includes('uploadId='),
  delete: ({ method, url }) => method === 'DELETE' && !url.includes('uploadId='),
  head: ({ method }) => method === 'HEAD',
  get: ({ method, url }) => method === 'GET' && !/[?&]uploads/.test(url),
} satisfies Record<string, Matches>

export type RequestKind = keyof typeof REQUESTS
