import { once } from 'node:events'
import { lstat, unlink } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { finished } from 'node:stream/promises'
import type { TSchema } from '#typebox'
import { ifExists } from '../../adapters/files/index.ts'
import { isRegistryError, parseStrictJson, RegistryError } from '../../core/index.ts'
import { statusOf } from '../contract/errors.ts'
import { hasShape } from '../../core/schemas/index.ts'
import { describeFailure } from '../startup/failure.ts'
import { controlPath } from './address.ts'
import type { ControlContext, ControlOperation, OperationProgress, ResponseLine } from './operation.ts'
import { configError } from '../settings/config-error.ts'

/** Only the owner may connect: connecting to a Unix socket takes write permission. */
const PRIVATE_UMASK = 0o177
const MAX_CONNECTIONS = 16
const MAX_BODY_BYTES = 65_536
/** Time for a client to send its request, and to read the end of the response. */
const CLIENT_TIMEOUT_MS = 10_000

type Operations = readonly ControlOperation<TSchema, unknown>[]

/** The socket of a running server. */
export interface ControlSocket {
  /** Cancels the operations that run, waits for them, and removes the socket. */
  close(): Promise<void>
}

/** What the operations work with. */
export interface ControlOptions {
  readonly context: ControlContext
  readonly operations: Operations
}

/**
 * Listens on the control socket of the data directory (mode 0600) for `POST /NAME` with the arguments of an operation
 * as JSON. The response is lines of JSON (`ResponseLine`). A client that closes the connection cancels the operation.
 * Requires that this process owns the directory: a socket that is there was left behind by a process that was killed,
 * and is replaced.
 *
 * A server is useful without it, so a failure is only logged.
 */
export async function openControlSocket(options: ControlOptions): Promise<ControlSocket> {
  const { config, logger } = options.context
  try {
    return await listen(controlPath(config.dataDir), options)
  } catch (error) {
    logger.warn({ err: error }, `this server accepts no commands: ${describeFailure(error, undefined)}`)
    return { close: async () => undefined }
  }
}

/** Listens for commands until it is closed. */
async function listen(path: string, options: ControlOptions): Promise<ControlSocket> {
  await removeStaleSocket(path)
  const closing = new AbortController()
  /** Operations go on for a while after their client has left, so they are not bound to the connections. */
  const running = new Set<Promise<void>>()
  const timeouts = { requestTimeout: CLIENT_TIMEOUT_MS, connectionsCheckingInterval: 1_000 }
  const server = createServer(timeouts, (request, response) => {
    const served = serve(request, response, options, closing.signal).finally(() => running.delete(served))
    running.add(served)
  })
  server.maxConnections = MAX_CONNECTIONS
  await listenPrivately(server, path)
  // A connection that cannot be accepted (ENOBUFS, ENOMEM) must not end the process. Node goes on listening.
  server.on('error', (error) => options.context.logger.warn({ err: error }, 'a command could not be accepted'))
  return {
    async close() {
      const closed = once(server, 'close')
      server.close()
      closing.abort(new RegistryError('CLOSED', 'The server stops'))
      await Promise.all(running)
      server.closeAllConnections()
      await closed
    },
  }
}

/** A socket whose server was killed would keep the new one from listening. */
async function removeStaleSocket(path: string): Promise<void> {
  const stats = await ifExists(lstat(path))
  if (stats === undefined) return
  if (!stats.isSocket()) throw configError(`${path} is not a socket: move it away, then restart the server`)
  await unlink(path)
}

/** Node creates the socket before `listen` returns, so nothing else is created with this umask. */
async function listenPrivately(server: Server, path: string): Promise<void> {
  const listening = once(server, 'listening')
  const previous = process.umask(PRIVATE_UMASK)
  try {
    server.listen(path)
  } finally {
    process.umask(previous)
  }
  await listening
}

/** Serves one request. Never throws. */
async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  { context, operations }: ControlOptions,
  closing: AbortSignal,
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort(new RegistryError('CLOSED', 'The client has disconnected')))
  // The `close` that follows an error is all that matters.
  response.on('error', () => undefined)
  const signal = AbortSignal.any([closing, gone.signal])
  const send = (line: ResponseLine): void => void response.write(`${JSON.stringify(line)}\n`)
  response.setHeader('Content-Type', 'application/x-ndjson').setHeader('Connection', 'close')
  const { logger } = context
  try {
    const { operation, args } = await readRequest(request, operations, signal)
    const startedAt = performance.now()
    const report = (progress: OperationProgress): void => {
      if (!response.writableNeedDrain) send({ progress })
    }
    send({ result: await operation.run(context, args, { signal, report }) })
    logger.info({ operation: operation.name, ms: Math.round(performance.now() - startedAt) }, 'command finished')
  } catch (error) {
    const code = isRegistryError(error) ? error.code : 'INTERNAL'
    if (!signal.aborted) logger.warn({ err: error, code }, 'command failed')
    if (!response.headersSent) response.statusCode = statusOf(code)
    send({ error: describeFailure(error, undefined, context.config.dataDir), code })
  }
  // A client that does not read must not keep the server from stopping.
  response.setTimeout(CLIENT_TIMEOUT_MS, () => response.destroy()).end()
  await finished(response).catch(() => undefined)
}

/** The operation of a request and its arguments. Both may be of another version. */
async function readRequest(request: IncomingMessage, operations: Operations, signal: AbortSignal) {
  const operation = operations.find(({ name }) => request.method === 'POST' && request.url === `/${name}`)
  if (operation === undefined)
    throw new RegistryError(
      'VALIDATION_ERROR',
      'The running server does not know this command: it has another version, restart it with this one',
    )
  const args = parseStrictJson(await readText(request, signal))
  if (hasShape(operation.args, args)) return { operation, args }
  throw new RegistryError(
    'VALIDATION_ERROR',
    `The running server expects other arguments of ${operation.name}: it has another version, restart it with this one`,
  )
}

/** Reads a body with a limit of size and time. */
async function readText(request: IncomingMessage, signal: AbortSignal): Promise<string> {
  // Node watches the time of a request only until its server closes.
  signal.addEventListener('abort', () => request.complete || request.destroy(), { once: true })
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) if (text.length <= MAX_BODY_BYTES) text += chunk
  if (text.length <= MAX_BODY_BYTES) return text
  throw new RegistryError('VALIDATION_ERROR', `A request on the control socket has at most ${MAX_BODY_BYTES} bytes`)
}
