import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, STATUS_CODES, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Logger } from '../../core/index.ts'
import { errorBody, failureOf, HttpError, type ErrorShape, type ResponseCode } from '../contract/errors.ts'
import { SECURITY_HEADERS } from './headers.ts'

/** Longer than the 60 s after which proxies and clients close their idle connections. */
const KEEP_ALIVE_MS = 65_000
const HEADERS_MS = 20_000
/** More are closed at once. Each takes a file descriptor. */
const MAX_CONNECTIONS = 10_000

/** At which address it listens, and how patient it is. */
export interface ListenOptions {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Time for the headers of a request to be complete. Default: 20 s. */
  readonly headersTimeoutMs?: number
  /**
   * How long an idle connection stays open. If the server closes it before its client does, a request that is already
   * on its way fails. Default: 65 s.
   */
  readonly keepAliveMs?: number
  /**
   * How long a body may bring no byte. A connection without traffic is closed after twice this time, but at least a
   * minute.
   */
  readonly uploadIdleMs: number
  /** How long running requests may take after `close` was called. */
  readonly shutdownMs: number
  /** Open connections. Default: 10,000, or less if that leaves too few file descriptors for the stores. */
  readonly maxConnections?: number
  /** Told of connections that could not be accepted. Default: they are not logged. */
  readonly logger?: Logger
}

/** A server that listens. */
export interface RunningServer {
  readonly port: number
  /** Accepts no more connections, lets running requests finish until the deadline, then closes the rest. */
  close(): Promise<void>
}

/** What the servers of an app do with connections. Counted for `/metrics`. */
export interface Connections {
  /** Those that are open now. */
  open: number
  /** Those that were closed at once since the start, because there were too many. */
  dropped: number
}

/** What listens: an app, or a part of it. */
export interface ListeningApp {
  readonly handle: RequestListener
  /** What the servers that listen for this app count. */
  readonly connections: Connections
  /** The body that errors have at the target of a request. */
  readonly errorShapeOf: (target: string) => ErrorShape
  /** Begins the shutdown: `/readyz` returns 503, and clients are asked to close their connections. */
  stop(): void
}

/** Listens with an app. Throws the system's error if the address cannot be used. */
export async function listen(app: ListeningApp, options: ListenOptions): Promise<RunningServer> {
  const { host, port, uploadIdleMs, shutdownMs, logger } = options
  const { keepAliveMs = KEEP_ALIVE_MS, headersTimeoutMs = HEADERS_MS, maxConnections = MAX_CONNECTIONS } = options
  const server = createServer(
    {
      headersTimeout: headersTimeoutMs,
      // A body may take any time as long as bytes keep coming, which guarded-body.ts checks.
      requestTimeout: 0,
      // The app rejects it. Node's response would have no body.
      requireHostHeader: false,
      keepAliveTimeout: keepAliveMs,
      // How often Node checks the timeout of the headers.
      connectionsCheckingInterval: 1_000,
    },
    app.handle,
  )
  // The app rejects it, with the headers and the log line of every response.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  server.maxConnections = connectionLimit(maxConnections)
  countConnections(server, app.connections)
  const newest = newestResponses(server)
  // A request whose headers arrive just now has their time.
  closeIdleConnections(server, newest, keepAliveMs + headersTimeoutMs)
  rejectBrokenRequests(server, newest, app.errorShapeOf)
  server.setTimeout(Math.max(60_000, 2 * uploadIdleMs))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  // A connection that cannot be accepted (ENOBUFS, ENOMEM) must not end the process. Node goes on listening.
  server.on('error', (error) => logger?.warn({ err: error }, 'a connection could not be accepted'))
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close() {
      app.stop()
      return close(server, shutdownMs)
    },
  }
}

/**
 * Closes a server. An idle keep-alive connection would block `server.close`, so idle connections are closed repeatedly.
 */
function close(server: Server, deadlineMs: number): Promise<void> {
  return new Promise((resolve) => {
    const idle = setInterval(() => server.closeIdleConnections(), 50)
    const deadline = setTimeout(() => server.closeAllConnections(), deadlineMs)
    server.close(() => {
      clearInterval(idle)
      clearTimeout(deadline)
      resolve()
    })
    server.closeIdleConnections()
  })
}

/** The response to the newest request of each open connection that had one. */
function newestResponses(server: Server): ReadonlyMap<Duplex, ServerResponse> {
  const newest = new Map<Duplex, ServerResponse>()
  server.prependListener('request', ({ socket }, response) => newest.set(socket, response))
  server.on('connection', (socket: Socket) => socket.once('close', () => newest.delete(socket)))
  return newest
}

/**
 * Closes connections that have been without a request for too long. Node's own timer ends with any byte that arrives
 * between two requests, so a client that sends CR LF now and then would keep its connection for ever.
 */
function closeIdleConnections(server: Server, newest: ReadonlyMap<Duplex, ServerResponse>, maxIdleMs: number): void {
  const idleSince = new WeakMap<ServerResponse, number>()
  const timer = setInterval(() => {
    const now = performance.now()
    for (const [socket, response] of newest) {
      if (!response.closed) continue
      const since = idleSince.get(response) ?? now
      idleSince.set(response, since)
      if (now - since >= maxIdleMs) socket.destroy()
    }
  }, maxIdleMs / 4).unref()
  server.once('close', () => clearInterval(timer))
}

/** Counts the connections for `/metrics`. */
function countConnections(server: Server, connections: Connections): void {
  server.on('drop', () => connections.dropped++)
  server.on('connection', (socket: Socket) => {
    connections.open++
    socket.once('close', () => connections.open--)
  })
}

/**
 * File descriptors that connections must not use: LevelDB keeps up to 1,000 tables open, and uploads, downloads, the
 * ledger and connections to other services need some, too.
 */
const RESERVED_DESCRIPTORS = 1_500
/** The part of all descriptors that connections can use in any case. */
const LEAST_SHARE = 1 / 4

/**
 * The number of connections that leaves enough file descriptors for everything else.
 *
 * @param max - the number that is wanted
 * @param descriptors - how many files the process may open; default: the limit of this process
 */
export function connectionLimit(max: number, descriptors = descriptorLimit()): number {
  if (descriptors === undefined) return max
  const available = Math.max(descriptors - RESERVED_DESCRIPTORS, Math.floor(descriptors * LEAST_SHARE))
  return Math.max(1, Math.min(max, available))
}

/** How many files this process may open. `undefined` if the system does not say it. */
function descriptorLimit(): number | undefined {
  try {
    const soft = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1]
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

/** How long a client may continue to send after the error. Closing at once would often lose the response. */
const LINGER_MS = 2_000

/** An error of Node's HTTP parser. `reason` is one of its own texts and contains nothing of the request. */
interface ParserError extends Error {
  readonly code?: string
  readonly reason?: string
}

/**
 * Responds to what Node's HTTP parser rejects with the same JSON as for every other error, and closes the connection.
 * Node would send an empty body, and would break a response that is under way: such a response ends first, and no error
 * follows it.
 *
 * @param newest - the newest response of each connection
 * @param shapeOf - the body that errors have at the target of a request
 */
function rejectBrokenRequests(
  server: Server,
  newest: ReadonlyMap<Duplex, ServerResponse>,
  shapeOf: (target: string) => ErrorShape,
): void {
  server.on('clientError', (error: ParserError, socket) => {
    const isOfParser = /^HPE_|^ERR_HTTP_REQUEST_TIMEOUT$/.test(error.code ?? '')
    if (!isOfParser) return void socket.destroy(error)
    // It was refused, and its client still sends: each packet is discarded, so that the client hears why.
    if (!socket.writable) return undefined
    const response = newest.get(socket)
    if (response === undefined || (response.writableFinished && response.req.complete))
      return sendError(socket, httpError(error, 'VALIDATION_ERROR', 'The request'), 'operation')
    // The body of a request that has its response: another one would count for the next request.
    if (response.writableFinished) return endSocket.call(response)
    const isBody = !response.req.complete && response.socket !== null
    if (isBody && !response.headersSent)
      return sendError(
        socket,
        httpError(error, 'MALFORMED_BODY', 'The body of the request'),
        shapeOf(response.req.url ?? ''),
      )
    // The parser reports the same error again for each later packet.
    if (!response.listeners('finish').includes(endSocket)) response.once('finish', endSocket)
    return undefined
  })
}

function endSocket(this: ServerResponse): void {
  this.req.socket.destroySoon()
}

const CODES: Readonly<Record<string, readonly [code: ResponseCode, text: string]>> = {
  HPE_HEADER_OVERFLOW: ['HEADERS_TOO_LARGE', 'The headers of a request must have at most 16 KiB'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['PAYLOAD_TOO_LARGE', 'The chunk extensions of a body must have at most 16 KiB'],
  ERR_HTTP_REQUEST_TIMEOUT: ['REQUEST_TIMEOUT', 'The headers of the request did not arrive in time'],
}

/** The error of a request that is not valid HTTP. */
function httpError(cause: ParserError, otherCode: ResponseCode, what: string): HttpError {
  const reason = cause.reason === undefined ? '' : `: ${cause.reason}`
  const [code, text] = CODES[cause.code ?? ''] ?? [otherCode, `${what} is not valid HTTP${reason}`]
  return new HttpError(code, text, { cause })
}

/** Writes a whole response to the socket, because there is no response of Node to write to. */
function sendError(socket: Duplex, error: HttpError, shape: ErrorShape): void {
  const failure = failureOf(error)
  const body = JSON.stringify(errorBody(failure, shape))
  const headers = {
    'X-Request-Id': randomUUID(),
    ...SECURITY_HEADERS,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    Date: new Date().toUTCString(),
    Connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${failure.status} ${STATUS_CODES[failure.status]}\r\n${lines.join('')}\r\n${body}`)
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref()
  socket.once('close', () => clearTimeout(timer))
}
