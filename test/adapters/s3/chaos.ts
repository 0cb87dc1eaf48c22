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
  /** The answer's body breaks off after so many bytes. */
  | { readonly cutAfter: number }
  /** The answer's body stops after so many bytes, and the connection stays. */
  | { readonly stallAfter: number }

type Matches = (request: {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
}) => boolean

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
    } else this.#pass(req, res, fault)
  }

  #pass(
    req: IncomingMessage,
    res: ServerResponse,
    fault: Exclude<Fault, 'refuse' | { answer: number }> | undefined,
  ): void {
    const { method, url: path, headers } = req
    const upstream = request({ host: '127.0.0.1', port: this.#upstreamPort, method, path, headers, agent: false })
    upstream.on('error', () => res.socket?.resetAndDestroy())
    upstream.on('response', (answer) => {
      if (fault === 'lose' || fault === 'hang') {
        answer.resume()
        if (fault === 'lose') answer.on('end', () => res.socket?.resetAndDestroy())
        return
      }
      res.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
      if (fault === undefined) pipeline(answer, res, () => undefined)
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
