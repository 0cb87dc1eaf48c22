import { once } from 'node:events'
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'
import { listenOnLoopback, portOf } from './ports.ts'

/** How one request fails. */
export type Fault =
  /** The proxy responds with this status and does not forward the request. */
  | { readonly status: number }
  /** The connection is reset, and the request is not forwarded. */
  | 'refuse'
  /** The request is applied, and the connection is reset instead of the response. */
  | 'lose'
  /** The request is applied, and the response never arrives. */
  | 'hang'
  /** The connection is reset after this many bytes of the body of the request. */
  | { readonly cutUploadAfter: number }
  /** The request is applied, and the response has these headers in addition; `undefined` removes one. */
  | { readonly headers: Readonly<Record<string, string | undefined>> }
  /** The connection is reset after this many bytes of the body of the response. */
  | { readonly cutAfter: number }
  /** The body of the response stops after this many bytes, and the connection stays open. */
  | { readonly stallAfter: number }

type Matches = (request: {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
}) => boolean

/** Faults of requests that are forwarded. */
type ForwardedFault = Exclude<Fault, 'refuse' | { readonly status: number } | { readonly cutUploadAfter: number }>

interface PlannedFault {
  readonly matches: Matches
  readonly fault: Fault
  left: number
}

/**
 * An HTTP proxy for a real service. It forwards every request unchanged, except those for which a test has planned a
 * fault.
 */
export class FaultyS3Proxy {
  readonly port: number
  /** `METHOD /path?query` of each request that arrived. */
  readonly requests: string[] = []
  /** Number of faults that were injected. */
  injected = 0
  readonly #server: Server
  readonly #upstreamPort: number
  #planned: PlannedFault[] = []

  private constructor(server: Server, upstreamPort: number) {
    this.#server = server
    this.#upstreamPort = upstreamPort
    this.port = portOf(server)
    server.on('request', (req: IncomingMessage, res: ServerResponse) => this.#handle(req, res))
  }

  static async start(upstreamPort: number): Promise<FaultyS3Proxy> {
    const server = createServer()
    await listenOnLoopback(server)
    return new FaultyS3Proxy(server, upstreamPort)
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** Makes the next `times` requests that match fail. */
  inject(matches: Matches, fault: Fault, times = 1): void {
    this.#planned.push({ matches, fault, left: times })
  }

  /** Removes all planned faults and forgets the requests. */
  reset(): void {
    this.#planned = []
    this.requests.length = 0
    this.injected = 0
  }

  async stop(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  #handle(req: IncomingMessage, res: ServerResponse): void {
    const received = { method: req.method ?? '', url: req.url ?? '', headers: req.headers }
    this.requests.push(`${received.method} ${received.url}`)
    const planned = this.#planned.find(({ matches, left }) => left > 0 && matches(received))
    if (planned === undefined) return this.#forward(req, res, undefined)
    planned.left -= 1
    this.injected += 1
    const { fault } = planned
    if (fault === 'refuse') res.socket?.resetAndDestroy()
    else if (typeof fault === 'object' && 'status' in fault) {
      req.resume()
      req.on('end', () => res.writeHead(fault.status).end())
    } else if (typeof fault === 'object' && 'cutUploadAfter' in fault) {
      let left = fault.cutUploadAfter
      req.on('data', (chunk: Buffer) => {
        left -= chunk.length
        if (left <= 0) res.socket?.resetAndDestroy()
      })
    } else this.#forward(req, res, fault)
  }

  #forward(req: IncomingMessage, res: ServerResponse, fault: ForwardedFault | undefined): void {
    const { method, url: path, headers } = req
    const upstream = request({ host: '127.0.0.1', port: this.#upstreamPort, method, path, headers, agent: false })
    upstream.on('error', () => res.socket?.resetAndDestroy())
    upstream.on('response', (response) => {
      if (fault === 'lose' || fault === 'hang') {
        response.resume()
        if (fault === 'lose') response.on('end', () => res.socket?.resetAndDestroy())
        return
      }
      const changed = fault !== undefined && 'headers' in fault ? fault.headers : {}
      const sent = Object.entries({ ...response.headers, ...changed }).filter(([, value]) => value !== undefined)
      res.writeHead(response.statusCode ?? 502, Object.fromEntries(sent))
      if (fault === undefined || 'headers' in fault) pipeline(response, res, () => undefined)
      else interruptBody(response, res, fault)
    })
    // If the client disconnects, the forwarded request is aborted.
    pipeline(req, upstream, () => undefined)
    res.on('close', () => {
      if (fault !== 'lose' && fault !== 'hang') upstream.destroy()
    })
  }
}

function interruptBody(
  response: IncomingMessage,
  res: ServerResponse,
  fault: { readonly cutAfter: number } | { readonly stallAfter: number },
): void {
  let left = 'cutAfter' in fault ? fault.cutAfter : fault.stallAfter
  response.on('data', (chunk: Buffer) => {
    const part = chunk.subarray(0, left)
    left -= part.length
    res.write(part, () => {
      if (left === 0 && 'cutAfter' in fault) res.socket?.resetAndDestroy()
    })
    if (left === 0) response.pause()
  })
}

const isUploadPart = (url: string): boolean => url.includes('partNumber=')

/** Matches the requests of the adapter by their purpose. */
export const REQUESTS = {
  put: ({ method, headers }) => method === 'PUT' && headers['x-amz-meta-evidence-put'] !== undefined,
  start: ({ method, url }) => method === 'POST' && /[?&]uploads/.test(url),
  part: ({ method, url }) => method === 'PUT' && isUploadPart(url),
  complete: ({ method, url }) => method === 'POST' && url.includes('uploadId='),
  abort: ({ method, url }) => method === 'DELETE' && url.includes('uploadId='),
  delete: ({ method, url }) => method === 'DELETE' && !url.includes('uploadId='),
  head: ({ method }) => method === 'HEAD',
  get: ({ method, url }) => method === 'GET' && !/[?&]uploads/.test(url),
} satisfies Record<string, Matches>

export type RequestKind = keyof typeof REQUESTS
