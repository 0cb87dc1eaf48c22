import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Call {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

export interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

/**
 * Replaces the node's response. `hang`: never responds. `drop`: closes the connection. A function may return
 * `undefined` to leave a call to the node.
 */
export type Fault = 'hang' | 'drop' | Reply | ((call: Call) => Reply | undefined)

/** An HTTP proxy in front of a node that forwards calls, changes results, or injects faults. */
export class Proxy {
  readonly #server: Server
  readonly #target: string
  readonly #changes = new Map<string, (result: unknown) => unknown>()
  readonly #faults = new Map<string, Fault>()
  /** Methods of all calls, in order. */
  readonly calls: string[] = []
  readonly authorizations = new Set<string | undefined>()
  /** If set, applies to every call without a fault of its own. */
  fault: Fault | undefined

  private constructor(server: Server, target: string) {
    this.#server = server
    this.#target = target
    server.on('request', (request, response) => void this.#handle(request, response))
  }

  static async start(target: string): Promise<Proxy> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new Proxy(server, target)
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Returns this result for a method instead of the node's. */
  replaceResult(method: string, result: unknown): void {
    this.change(method, () => result)
  }

  /** Changes the node's result for a method. */
  change(method: string, change: (result: unknown) => unknown): void {
    this.#changes.set(method, change)
  }

  fail(method: string, fault: Fault): void {
    this.#faults.set(method, fault)
  }

  /** Removes all faults and changes. */
  heal(): void {
    this.#changes.clear()
    this.#faults.clear()
    this.fault = undefined
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    const call = JSON.parse(body) as Call
    this.calls.push(call.method)
    this.authorizations.add(request.headers.authorization)
    const fault = this.#faults.get(call.method) ?? this.fault
    if (fault === 'hang') return
    if (fault === 'drop') return void response.destroy()
    const reply = (typeof fault === 'function' ? fault(call) : fault) ?? (await this.#forward(call, body))
    response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers })
    response.end(reply.body)
  }

  async #forward(call: Call, body: string): Promise<Reply> {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(this.#target, { method: 'POST', headers, body })
    const text = await response.text()
    const change = this.#changes.get(call.method)
    if (change === undefined) return { body: text }
    const envelope = JSON.parse(text) as { readonly result: unknown }
    return { body: JSON.stringify({ ...envelope, result: change(envelope.result) }) }
  }
}
