import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net'

/** `before`: the connection is cut instead of sending the statement. `after`: the server has done it, and its answer is cut. */
export type When = 'before' | 'after'

const QUERY = 0x51
const SYNC = 0x53
const READY_FOR_QUERY = 0x5a

/**
 * A TCP proxy before a PostgreSQL that knows so much of the protocol that it can cut a connection at a certain statement: the simple
 * protocol's Query, or the Sync that ends an extended one.
 */
export class PostgresProxy {
  /** Statements since the last arming, over all connections. */
  statements = 0
  /** Where new connections go; `undefined` refuses them. */
  target: number | undefined
  #fault: { readonly statement: number; readonly when: When; readonly onFired?: (() => void) | undefined } | undefined
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(target: number) {
    this.target = target
    this.#server = createServer((client) => this.#accept(client))
  }

  static async start(target: number): Promise<PostgresProxy> {
    const proxy = new PostgresProxy(target)
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  url(database = 'postgres'): string {
    return `postgres://postgres@127.0.0.1:${(this.#server.address() as AddressInfo).port}/${database}`
  }

  /** Cuts the connection at the `statement`-th statement from now (1: the next). */
  cut(statement: number, when: When, onFired?: () => void): void {
    this.statements = 0
    this.#fault = { statement, when, onFired }
  }

  /** True where the armed cut has not come yet. */
  get isArmed(): boolean {
    return this.#fault !== undefined
  }

  disarm(): void {
    this.#fault = undefined
  }

  /** Cuts every connection. */
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
    let isMuted = false
    const answers = new Messages(false, (type) => {
      if (type === READY_FOR_QUERY && isMuted) cut()
    })
    const requests = new Messages(true, (type) => {
      if (type !== QUERY && type !== SYNC) return
      this.statements += 1
      const fault = this.#fault
      if (fault === undefined || this.statements !== fault.statement) return
      this.#fault = undefined
      fault.onFired?.()
      if (fault.when === 'before') cut()
      else isMuted = true
    })
    client.on('data', (chunk: Buffer) => {
      requests.take(chunk)
      if (!server.destroyed) server.write(chunk)
    })
    server.on('data', (chunk: Buffer) => {
      if (!isMuted) client.write(chunk)
      answers.take(chunk)
    })
  }
}

/** Tells each message's type as its header comes by: a type byte and a length in four, but a connection's first has no type. */
class Messages {
  readonly #onMessage: (type: number) => void
  #header: number[] = []
  #headerBytes: number
  #skip = 0

  constructor(isClient: boolean, onMessage: (type: number) => void) {
    this.#headerBytes = isClient ? 4 : 5
    this.#onMessage = onMessage
  }

  take(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, chunk.length - at)
        this.#skip -= skipped
        at += skipped
        continue
      }
      this.#header.push(chunk[at] as number)
      at += 1
      if (this.#header.length < this.#headerBytes) continue
      const header = Buffer.from(this.#header)
      this.#skip = header.readUInt32BE(this.#headerBytes - 4) - 4
      if (this.#headerBytes === 5) this.#onMessage(header[0] as number)
      this.#headerBytes = 5
      this.#header = []
    }
  }
}
