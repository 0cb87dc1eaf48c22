import { isRegistryError, RegistryError } from '../kit/index.ts'
import { RpcEndpoint } from './endpoint.ts'
import { hexOf } from '../../core/verify/chain/rlp.ts'

/** Calls that all go to the same node. */
export interface RpcSession {
  /** Returns the call's result. Throws `ANCHOR_FAILED`; later sessions then prefer other nodes. */
  request(method: string, params: readonly unknown[]): Promise<unknown>
  /** The same for calls that a node need not support: returns `undefined` if the node reports an error. */
  attempt(method: string, params: readonly unknown[]): Promise<unknown>
}

/** Every so many sessions, endpoints that failed are tried again. */
const SESSIONS_PER_REVIEW = 16

function sessionWith(endpoint: RpcEndpoint, signal: AbortSignal | undefined): RpcSession {
  return {
    async request(method, params) {
      try {
        return await endpoint.request(method, params, signal)
      } catch (error) {
        // Also if the node only reports an error: it may be over its rate limit or lack the requested state.
        if (signal?.aborted !== true) endpoint.markFailed()
        throw error
      }
    },
    async attempt(method, params) {
      try {
        return await endpoint.request(method, params, signal)
      } catch (error) {
        if (signal?.aborted === true || endpoint.hasFailed) throw error
        return undefined
      }
    },
  }
}

/**
 * Several nodes of one chain. Each session uses one of them, so that its results are consistent: of the nodes that
 * respond, the one with the most blocks. Nodes that failed are tried last.
 */
export class RpcEndpoints {
  readonly #endpoints: readonly RpcEndpoint[]
  readonly #chainId: number
  #sessions = 0

  /** Throws `CONFIG_ERROR` if there are no URLs, or one is not http or https. */
  constructor(urls: readonly string[], chainId: number, timeoutMs: number) {
    if (urls.length === 0) throw new RegistryError('CONFIG_ERROR', 'An EVM anchor needs at least one RPC URL')
    this.#endpoints = urls.map((url, i) => new RpcEndpoint(url, i + 1, timeoutMs))
    this.#chainId = chainId
  }

  /** Throws `CONFIG_ERROR` if a node belongs to another chain. Ignores nodes that do not respond. */
  async assertChain(signal?: AbortSignal): Promise<void> {
    const responses = await Promise.all(
      this.#endpoints.map(async (endpoint) => ({
        endpoint,
        chainId: await endpoint.chainId(signal).catch(() => undefined),
      })),
    )
    signal?.throwIfAborted()
    for (const { endpoint, chainId } of responses)
      if (chainId !== undefined && chainId !== this.#chainId)
        throw new RegistryError(
          'CONFIG_ERROR',
          `${endpoint.label} belongs to chain ${chainId}, but the configured chain id is ${this.#chainId}: correct one of them`,
        )
  }

  /** Opens a session. Throws `ANCHOR_FAILED` with every node's reason if no node can be used. */
  async session(signal?: AbortSignal): Promise<RpcSession> {
    const isReview = this.#sessions++ % SESSIONS_PER_REVIEW === 0
    const first = isReview ? this.#endpoints : this.#endpoints.filter(({ hasFailed }) => !hasFailed)
    const rest = this.#endpoints.filter((endpoint) => !first.includes(endpoint))
    const best = await this.#highest(first, signal)
    const { endpoint, reasons } = best.endpoint === undefined ? await this.#highest(rest, signal) : best
    if (endpoint === undefined)
      throw new RegistryError(
        'ANCHOR_FAILED',
        `No node can be used. ${[...new Set([...best.reasons, ...reasons])].sort().join('; ')}`,
      )
    return sessionWith(endpoint, signal)
  }

  /** Sends a signed transaction to every node. Returns each node's error, or `undefined` if it accepted. */
  async sendToAll(raw: Uint8Array, signal?: AbortSignal): Promise<readonly (RegistryError | undefined)[]> {
    const send = async (endpoint: RpcEndpoint): Promise<RegistryError | undefined> => {
      try {
        // The chain is not checked here: a signed transaction names it, and nodes of other chains reject it.
        await endpoint.request('eth_sendRawTransaction', [hexOf(raw)], signal)
        return undefined
      } catch (error) {
        signal?.throwIfAborted()
        if (isRegistryError(error)) return error
        throw error
      }
    }
    return Promise.all(this.#endpoints.map(send))
  }

  async #highest(
    endpoints: readonly RpcEndpoint[],
    signal?: AbortSignal,
  ): Promise<{ readonly endpoint: RpcEndpoint | undefined; readonly reasons: readonly string[] }> {
    const reasons: string[] = []
    let best: { readonly endpoint: RpcEndpoint; readonly height: number } | undefined
    const heightOf = async (endpoint: RpcEndpoint) => ({
      endpoint,
      height: await endpoint.height(this.#chainId, signal),
    })
    for (const outcome of await Promise.allSettled(endpoints.map(heightOf))) {
      if (outcome.status === 'rejected') reasons.push((outcome.reason as Error).message)
      else if (best === undefined || outcome.value.height > best.height) best = outcome.value
    }
    signal?.throwIfAborted()
    return { endpoint: best?.endpoint, reasons }
  }
}
