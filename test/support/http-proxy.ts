import { createServer, request as httpRequest, type Server } from 'node:http'
import { connect } from 'node:net'
import { listenOnLoopback, portOf } from './ports.ts'

/** An HTTP proxy that connects each name to a port of the loopback, and requires a password. */
export class HttpProxy {
  /** What it was asked for, in order: `CONNECT host:port` or `POST url`. */
  readonly requests: string[] = []
  readonly #ports: Readonly<Record<string, number>>
  readonly #server: Server

  private constructor(ports: Readonly<Record<string, number>>) {
    this.#ports = ports
    this.#server = createServer((incoming, outgoing) => {
      const { method, url = '', headers } = incoming
      const port = this.#accept(`${method} ${url}`, headers['proxy-authorization'], new URL(url).host)
      if (typeof port === 'string') {
        outgoing.writeHead(Number(port)).end()
        return
      }
      const forwarded = httpRequest({ port, method, headers, path: new URL(url).pathname }, (reply) => {
        outgoing.writeHead(reply.statusCode ?? 500, reply.headers)
        reply.pipe(outgoing)
      })
      incoming.pipe(forwarded)
    })
    this.#server.on('connect', ({ url = '', headers }, client) => {
      const port = this.#accept(`CONNECT ${url}`, headers['proxy-authorization'], url)
      if (typeof port === 'string') {
        client.end(`HTTP/1.1 ${port} refused\r\n\r\n`)
        return
      }
      const target = connect(port, '127.0.0.1', () => client.write('HTTP/1.1 200 connected\r\n\r\n'))
      for (const [from, to] of [
        [client, target],
        [target, client],
      ] as const) {
        from.on('error', () => to.destroy()).on('close', () => to.destroy())
        from.pipe(to)
      }
    })
  }

  /** @param ports by `host:port`, or `host` for port 80 */
  static async start(ports: Readonly<Record<string, number>>): Promise<HttpProxy> {
    const proxy = new HttpProxy(ports)
    await listenOnLoopback(proxy.#server)
    return proxy
  }

  url(credentials = 'user:pass%20word'): string {
    return `http://${credentials}@127.0.0.1:${portOf(this.#server)}`
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  /** Returns the port of the target, or the status of the refusal. */
  #accept(asked: string, authorization: string | undefined, target: string): number | string {
    this.requests.push(asked)
    if (authorization !== `Basic ${btoa('user:pass word')}`) return '407'
    return this.#ports[target] ?? '502'
  }
}
