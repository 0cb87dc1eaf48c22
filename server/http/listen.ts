import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Logger } from '../../core/index.ts'
import type { App } from './app.ts'
import { rejectBrokenRequests } from './broken-requests.ts'
import { connectionLimit } from './connections.ts'

/**
 * How long an idle connection stays open. Longer than the 60 s after which proxies and clients close theirs: if the
 * server closes first, a request that is already on its way fails.
 */
const KEEP_ALIVE_MS = 65_000

export interface ListenOptions {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  readonly headersTimeoutMs: number
  /**
   * How long a body may bring no byte. A connection without traffic is closed after twice this time, but at least a
   * minute.
   */
  readonly uploadIdleMs: number
  /** How long running requests may take after `close` was called. */
  readonly shutdownMs: number
  /** Open connections. Default: as many as leave enough file descriptors for the stores. */
  readonly maxConnections?: number
  /** See `AppOptions`. Default false. */
  readonly trustProxy?: boolean
  /** Told of connections that could not be accepted. Default: they are not logged. */
  readonly logger?: Logger
}

export interface RunningServer {
  readonly port: number
  /** Accepts no more connections, lets running requests finish until the deadline, then closes the rest. */
  close(): Promise<void>
}

/** Listens with an app. Throws the system's error if the address cannot be used. */
export async function listen(
  app: Pick<App, 'handle' | 'stop' | 'connections' | 'errorShapeOf'>,
  options: ListenOptions,
): Promise<RunningServer> {
  const { host, port, headersTimeoutMs, uploadIdleMs, shutdownMs, maxConnections = 1_000_000, logger } = options
  const server = createServer(
    {
      headersTimeout: headersTimeoutMs,
      // A body may take any time as long as bytes keep coming, which body.ts checks.
      requestTimeout: 0,
      // The app rejects it. Node's response would have no body.
      requireHostHeader: false,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // How often Node checks the timeout of the headers.
      connectionsCheckingInterval: 1_000,
    },
    app.handle,
  )
  app.connections.limit(server, { max: connectionLimit(maxConnections), hasProxy: options.trustProxy === true })
  rejectBrokenRequests(server, app.errorShapeOf)
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
  return {
    port: (server.address() as AddressInfo).port,
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
