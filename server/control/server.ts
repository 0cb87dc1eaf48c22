import { lstat, unlink } from 'node:fs/promises'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { ifExists } from '../../adapters/files/index.ts'
import { isRegistryError, parseStrictJson, RegistryError, type Logger } from '../../core/index.ts'
import { describeFailure } from '../startup/failure.ts'
import { controlPath } from './address.ts'
import type { ControlContext, ControlOperation } from './operation.ts'
import { encodeLine, MAX_REQUEST_BYTES, PROTOCOL_VERSION, readLines, type ResponseLine } from './protocol.ts'

/** Only the owner may connect: connecting to a Unix socket takes write permission. */
const PRIVATE_UMASK = 0o177
const MAX_CONNECTIONS = 16
/** Time for a client to send its request. */
const REQUEST_TIMEOUT_MS = 10_000

export interface ControlSocket {
  /** Cancels the operations that run, waits for them, and removes the socket. */
  close(): Promise<void>
}

export interface ControlOptions {
  readonly context: ControlContext
  readonly operations: readonly ControlOperation<unknown, unknown>[]
}

/**
 * Listens on the control socket of the data directory (mode 0600). Requires that this process owns the directory: a
 * socket that is there was left behind by a process that was killed, and is replaced.
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

async function listen(path: string, options: ControlOptions): Promise<ControlSocket> {
  await removeStaleSocket(path)
  const closing = new AbortController()
  const sockets = new Set<Socket>()
  /** Operations go on for a while after their client has left, so they are not bound to the sockets. */
  const running = new Set<Promise<void>>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    const served = serve(socket, options, closing.signal).finally(() => running.delete(served))
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
      for (const socket of sockets) socket.destroySoon()
      await closed
    },
  }
}

async function removeStaleSocket(path: string): Promise<void> {
  const stats = await ifExists(lstat(path))
  if (stats === undefined) return
  if (!stats.isSocket())
    throw new RegistryError('CONFIG_ERROR', `${path} is not a socket: move it away, then restart the server`)
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

/** Serves one connection. Never throws. */
async function serve(socket: Socket, { context, operations }: ControlOptions, closing: AbortSignal): Promise<void> {
  const gone = new AbortController()
  socket.once('close', () => gone.abort(new RegistryError('CLOSED', 'The client has disconnected')))
  // The `close` that follows an error is all that matters.
  socket.on('error', () => undefined)
  const signal = AbortSignal.any([closing, gone.signal])
  const send = (line: ResponseLine): void => {
    if (!socket.destroyed) socket.write(encodeLine(line))
  }
  const stop = (): void => void socket.destroy()
  closing.addEventListener('abort', stop, { once: true })
  try {
    const { operation, args } = await readRequest(socket, operations)
    closing.removeEventListener('abort', stop)
    const startedAt = performance.now()
    const result = await operation.run(context, args, {
      signal,
      report: (progress) => {
        if (!socket.writableNeedDrain) send({ progress })
      },
    })
    send({ result })
    context.logger.info(
      { operation: operation.name, ms: Math.round(performance.now() - startedAt) },
      'command finished',
    )
  } catch (error) {
    send({ error: describeError(error, context.logger, signal) })
  } finally {
    closing.removeEventListener('abort', stop)
    socket.end()
    // A client that does not close its side must not keep the server from stopping.
    socket.setTimeout(REQUEST_TIMEOUT_MS, () => socket.destroy())
  }
}

interface ParsedRequest {
  readonly operation: ControlOperation<unknown, unknown>
  readonly args: unknown
}

async function readRequest(
  socket: Socket,
  operations: readonly ControlOperation<unknown, unknown>[],
): Promise<ParsedRequest> {
  socket.setTimeout(REQUEST_TIMEOUT_MS, () => socket.destroy())
  for await (const line of readLines(socket, MAX_REQUEST_BYTES)) {
    socket.setTimeout(0)
    // Nothing more is expected, but without reading, the end of the connection would not be noticed.
    socket.resume()
    return parseRequest(line, operations)
  }
  throw new RegistryError('CLOSED', 'The client has disconnected')
}

function parseRequest(line: string, operations: readonly ControlOperation<unknown, unknown>[]): ParsedRequest {
  const request = parseStrictJson(line)
  if (typeof request !== 'object' || request === null || !('operation' in request))
    throw new RegistryError('VALIDATION_ERROR', 'A request on the control socket must name its operation')
  const { v, operation: name, args }: { v?: unknown; operation?: unknown; args?: unknown } = request
  if (v !== PROTOCOL_VERSION)
    throw new RegistryError(
      'VALIDATION_ERROR',
      'The server has another version than this command: use the same for both',
    )
  const operation = operations.find((each) => each.name === name)
  if (operation === undefined)
    throw new RegistryError(
      'VALIDATION_ERROR',
      'The running server does not know this command: it has another version, restart it with this one',
    )
  return { operation, args: operation.parse(args) }
}

function describeError(error: unknown, logger: Logger, signal: AbortSignal) {
  const code = isRegistryError(error) ? error.code : 'INTERNAL'
  if (!signal.aborted) logger.warn({ err: error, code }, 'command failed')
  return { code, message: describeFailure(error, undefined) }
}
