import { randomUUID } from 'node:crypto'
import { STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { errorBody, failureOf, HttpError, type ErrorShape, type ResponseCode } from './errors.ts'
import { SECURITY_HEADERS } from './headers.ts'

/** How long a client may continue to send after the error. Closing at once would often lose the response. */
const LINGER_MS = 2_000

/** An error of Node's HTTP parser. `reason` is one of its own texts and contains nothing of the request. */
interface ParserError extends Error {
  readonly code?: string
  readonly reason?: string
}

/** The newest request of a connection. Broken bytes belong to its body, or to the head of the request after it. */
interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/**
 * Responds to what Node's HTTP parser rejects, with the same JSON as for every other error, and closes the connection.
 * Node would send an empty body, and would break a response that is under way.
 *
 * @param shapeOf - the body that errors have at the target of a request
 */
export function rejectBrokenRequests(server: Server, shapeOf: (target: string) => ErrorShape): void {
  const newest = new WeakMap<Socket, Exchange>()
  /** The parser reports the same error again for each later packet. */
  const broken = new WeakSet<Socket>()
  server.prependListener('request', (request, response) => newest.set(request.socket, { request, response }))
  server.on('clientError', (error: ParserError, stream) => {
    const socket = stream as Socket
    if (!isOfParser(error) || !socket.writable) {
      socket.destroy(error)
      return
    }
    if (broken.has(socket)) return
    broken.add(socket)
    const exchange = newest.get(socket)
    if (exchange === undefined || exchange.request.complete)
      whenSent(exchange?.response, () => sendAndClose(socket, headError(error), 'operation'))
    else rejectBody(socket, exchange, { error: bodyError(error), shape: shapeOf(exchange.request.url ?? '') })
  })
}

/** Other errors are those of the connection itself, to which nothing can be sent. */
const isOfParser = ({ code = '' }: ParserError): boolean =>
  code.startsWith('HPE_') || code === 'ERR_HTTP_REQUEST_TIMEOUT'

const CODES: Readonly<Record<string, readonly [code: ResponseCode, text: string]>> = {
  HPE_HEADER_OVERFLOW: ['HEADERS_TOO_LARGE', 'The headers of a request must have at most 16 KiB'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['PAYLOAD_TOO_LARGE', 'The chunk extensions of a body must have at most 16 KiB'],
  ERR_HTTP_REQUEST_TIMEOUT: ['REQUEST_TIMEOUT', 'The headers of the request did not arrive in time'],
}

const headError = (error: ParserError): HttpError => httpError(error, 'VALIDATION_ERROR', 'The request')

const bodyError = (error: ParserError): HttpError => httpError(error, 'MALFORMED_BODY', 'The body of the request')

function httpError(cause: ParserError, otherCode: ResponseCode, what: string): HttpError {
  const reason = cause.reason === undefined ? '' : `: ${cause.reason}`
  const [code, text] = CODES[cause.code ?? ''] ?? [otherCode, `${what} is not valid HTTP${reason}`]
  return new HttpError(code, text, { cause })
}

/** Calls back when a response was sent, and those before it. */
function whenSent(response: ServerResponse | undefined, callback: () => void): void {
  if (response === undefined || response.writableFinished) callback()
  else response.once('finish', callback)
}

/** Responds to a request with a broken body, unless its response is under way, after the responses before it. */
function rejectBody(
  socket: Socket,
  { response }: Exchange,
  { error, shape }: { readonly error: HttpError; readonly shape: ErrorShape },
): void {
  const reject = (): void => {
    if (response.headersSent) whenSent(response, () => socket.destroySoon())
    else sendAndClose(socket, error, shape)
  }
  // Node assigns the socket to a response when the response before it is complete.
  if (response.socket === null && !response.writableFinished) response.once('socket', reject)
  else reject()
}

function sendAndClose(socket: Socket, error: HttpError, shape: ErrorShape): void {
  if (!socket.writable) return
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
