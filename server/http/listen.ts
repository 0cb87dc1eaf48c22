import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { App } from './app.ts'

export interface ListenOptions {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  readonly headersTimeoutMs: number
  /**
   * A body may be silent for so long; a connection on which nothing moves is cut after twice that, and a minute at
   * least.
   */
  readonly uploadIdleMs: number
  /** How long requests under way may take when it closes. */
  readonly shutdownMs: number
}

export interface RunningServer {
  readonly port: number
  /** Takes no more connections, finishes requests under way until the deadline, then cuts what is left. */
  close(): Promise<void>
}

/** Listens with an app. Throws the system's error where the address cannot be had. */
export async function listen(
  app: App,
  { host, port, headersTimeoutMs, uploadIdleMs, shutdownMs }: ListenOptions,
): Promise<RunningServer> {
  const handle = app.koa.callback()
  const server = createServer(
    {
      headersTimeout: headersTimeoutMs,
      // A body may take as long as its bytes keep coming: body.ts checks that.
      requestTimeout: 0,
      // Node looks at the headers' timeout only this often.
      connectionsCheckingInterval: 1_000,
    },
    (request, response) => void handle(request, response),
  )
  server.setTimeout(Math.max(60_000, 2 * uploadIdleMs))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      app.health.stop()
      return close(server, shutdownMs)
    },
  }
}

/**
 * A keep-alive connection that is silent would block `close` for ever, so idle ones are closed again and again as
 * requests end.
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
