import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { listenOnLoopback } from './ports.ts'
import { json } from 'node:stream/consumers'

export interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

/** Instead of a result. `hang`: never responds. `drop`: closes the connection. */
export type Fault = 'hang' | 'drop' | Reply

const HASH = `0x${'ab'.repeat(32)}`

/** What a node of chain 31,337 with 300 blocks returns for an account that has sent nothing. */
const RESULTS: Readonly<Record<string, unknown>> = {
  eth_chainId: '0x7a69',
  eth_getBlockByNumber: { number: '0x12c', hash: HASH, timestamp: '0x64', baseFeePerGas: '0x7', transactions: [] },
  eth_maxPriorityFeePerGas: '0x1',
  eth_getTransactionCount: '0x0',
  eth_getBalance: '0xde0b6b3a7640000',
  eth_estimateGas: '0x7530',
  eth_getTransactionReceipt: null,
  eth_getTransactionByHash: null,
  eth_sendRawTransaction: HASH,
}

/** An HTTP server that responds as a node does: with a result for each method, or with a fault. */
export class FakeNode {
  readonly url: string
  readonly #server: Server
  /** Methods of all calls, in order. */
  readonly calls: string[] = []
  readonly authorizations = new Set<string | undefined>()
  /** By method. A function gets the parameters of the call. */
  results: Readonly<Record<string, unknown>> = RESULTS
  /** Of every call. */
  fault: Fault | undefined
  readonly #faults = new Map<string, Fault>()

  private constructor(server: Server, port: number) {
    this.url = `http://127.0.0.1:${port}`
    this.#server = server
    server.on('request', (request, response) => void this.#handle(request, response))
  }

  /** @param t The test after which it is stopped. */
  static async start(t?: TestContext): Promise<FakeNode> {
    const server = createServer()
    const node = new FakeNode(server, await listenOnLoopback(server))
    t?.after(() => node.stop())
    return node
  }

  /** Removes all faults and changed results. */
  heal(): void {
    this.results = RESULTS
    this.fault = undefined
    this.#faults.clear()
    this.calls.length = 0
  }

  /** Changes results, by method. */
  change(results: Readonly<Record<string, unknown>>): void {
    this.results = { ...this.results, ...results }
  }

  /** Makes the calls of one method fail. */
  fail(method: string, fault: Fault): void {
    this.#faults.set(method, fault)
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { id, method, params } = (await json(request)) as {
      readonly id: number
      readonly method: string
      readonly params: readonly unknown[]
    }
    this.calls.push(method)
    this.authorizations.add(request.headers.authorization)
    const result = this.results[method]
    const fault =
      this.#faults.get(method) ?? this.fault ?? (typeof result === 'function' ? (result(...params) as unknown) : result)
    if (fault === 'hang') return
    if (fault === 'drop') return void response.destroy()
    const reply: Reply = isReply(fault) ? fault : { body: JSON.stringify({ jsonrpc: '2.0', id, result: fault }) }
    response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers })
    response.end(reply.body)
  }
}

const isReply = (value: unknown): value is Reply => typeof value === 'object' && value !== null && 'body' in value

/** A response with an error of the node. */
export const rejection = (message: string, code = -32_000, status = 200): Reply => ({
  status,
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code, message } }),
})
