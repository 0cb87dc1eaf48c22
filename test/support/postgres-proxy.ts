import { createServer, connect, type Server, type Socket } from 'node:net'
import { listenOnLoopback, portOf } from './ports.ts'

/**
 * `before`: the connection is closed before the statement is sent. `after`: the statement is applied and its response
 * is lost.
 */
export type When = 'before' | 'after'

const QUERY = 0x51
const SYNC = 0x53
const READY_FOR_QUERY = 0x5a

/**
 * A TCP proxy for a PostgreSQL server. It parses enough of the protocol to close a connection at a certain statement:
 * the Query of the simple protocol, or the Sync that ends a statement of the extended one.
 */
export class PostgresProxy {
  /** Number of statements since the last call of `cut`, on all connections. */
  statements = 0
  /** The port to which new connections are forwarded; if `undefined`, they are closed. */
  target: number | undefined
  #fault: { readonly statement: number; readonly when: When; readonly onCut?: (() => void) | undefined } | undefined
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(target: number) {
    this.target = target
    this.#server = createServer((client) => this.#accept(client))
  }

  static async start(target: number): Promise<PostgresProxy> {
    const proxy = new PostgresProxy(target)
    await listenOnLoopback(proxy.#server)
    return proxy
  }

  url(database = 'postgres'): string {
    return `postgres://postgres@127.0.0.1:${portOf(this.#server)}/${database}`
  }

  /** Closes the connection at the `statement`-th statement from now (1: the next). */
  cut(statement: number, when: When, onCut?: () => void): void {
    this.statements = 0
    this.#fault = { statement, when, onCut }
  }

  /** True if the planned cut has not happened yet. */
  get isArmed(): boolean {
    return this.#fault !== undefined
  }

  /** Removes the planned cut. */
  disarm(): void {
    this.#fault = undefined
  }

  /** Closes every connection. */
  cutAll(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async stop(): Promise<void> {
    this.cutAll()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #accept(client: Socket): void {
    if (this.target === undefined) {
      client.destroy()
      return
    }
    const server = connect(this.target, '127.0.0.1')
    const cut = (): void => {
      client.destroy()
      server.destroy()
    }
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', cut).on('close', () => {
        this.#sockets.delete(socket)
        cut()
      })
    }
    let isResponseLost = false
    const responses = new MessageParser(false, (type) => {
      if (type === READY_FOR_QUERY && isResponseLost) cut()
    })
    const requests = new MessageParser(true, (type) => {
      if (type !== QUERY && type !== SYNC) return
      this.statements += 1
      const fault = this.#fault
      if (fault === undefined || this.statements !== fault.statement) return
      this.#fault = undefined
      fault.onCut?.()
      if (fault.when === 'before') cut()
      else isResponseLost = true
    })
    client.on('data', (chunk: Buffer) => {
      requests.add(chunk)
      if (!server.destroyed) server.write(chunk)
    })
    server.on('data', (chunk: Buffer) => {
      if (!isResponseLost) client.write(chunk)
      responses.add(chunk)
    })
  }
}

/**
 * Reports the type of each message: a header is a type byte and four bytes of length, but the first of a connection has
 * no type.
 */
class MessageParser {
  readonly #onMessage: (type: number) => void
  #header: number[] = []
  #headerBytes: number
  #skip = 0

  constructor(isClient: boolean, onMessage: (type: number) => void) {
    this.#headerBytes = isClient ? 4 : 5
    this.#onMessage = onMessage
  }

  add(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, chunk.length - at)
        this.#skip -= skipped
        at += skipped
        continue
      }
      this.#header.push(chunk.readUInt8(at))
      at += 1
      if (this.#header.length < this.#headerBytes) continue
      const header = Buffer.from(this.#header)
      this.#skip = header.readUInt32BE(this.#headerBytes - 4) - 4
      if (this.#headerBytes === 5) this.#onMessage(header.readUInt8(0))
      this.#headerBytes = 5
      this.#header = []
    }
  }
}
