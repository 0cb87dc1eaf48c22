import { RegistryError } from '../../core/errors.ts'
import { RpcEndpoint } from './endpoint.ts'
import { hexOf } from './quantity.ts'

/** Calls that see one node's view, from the first to the last. */
export interface RpcSession {
  /** Throws `ANCHOR_FAILED`; the node is then the last to be chosen for the next session. */
  request(method: string, params: readonly unknown[]): Promise<unknown>
  /** The same for what a node need not know: `undefined` where it refuses. */
  attempt(method: string, params: readonly unknown[]): Promise<unknown>
}

/** One that failed is given a chance every so many sessions. */
const SESSIONS_PER_REVIEW = 16

function sessionWith(endpoint: RpcEndpoint, signal: AbortSignal | undefined): RpcSession {
  return {
    async request(method, params) {
      try {
        return await endpoint.request(method, params, signal)
      } catch (error) {
        // Also one that only refuses: over its rate limit, or without the state that was asked for.
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
 * Several nodes of one chain. Each piece of work is done with one of them, so that its answers fit together: the one that has seen
 * the most blocks of those that answer. One that failed comes last.
 */
export class RpcEndpoints {
  readonly #endpoints: readonly RpcEndpoint[]
  readonly #chainId: number
  #sessions = 0

  /** Throws `CONFIG_ERROR` for what is no list of URLs. */
  constructor(urls: readonly string[], chainId: number, timeoutMs: number) {
    if (urls.length === 0) throw new RegistryError('CONFIG_ERROR', 'An EVM anchor needs an RPC URL')
    this.#endpoints = urls.map((url, i) => new RpcEndpoint(url, i + 1, timeoutMs))
    this.#chainId = chainId
  }

  /** Throws `CONFIG_ERROR` where a node answers that it is of another chain; one that does not answer says nothing. */
  async assertChain(signal?: AbortSignal): Promise<void> {
    const answers = await Promise.all(
      this.#endpoints.map(async (endpoint) => ({
        endpoint,
        chainId: await endpoint.chainId(signal).catch(() => undefined),
      })),
    )
    signal?.throwIfAborted()
    for (const { endpoint, chainId } of answers)
      if (chainId !== undefined && chainId !== this.#chainId)
        throw new RegistryError(
          'CONFIG_ERROR',
          `${endpoint.label} is of chain ${chainId}, and the configured chain id is ${this.#chainId}: correct the one or the other`,
        )
  }

  /** Throws `ANCHOR_FAILED` with every node's reason where none answers. */
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

  /** Gives a signed transaction to every node. Answers each one's refusal, none where it took it. */
  async sendToAll(raw: Uint8Array, signal?: AbortSignal): Promise<readonly (RegistryError | undefined)[]> {
    const send = async (endpoint: RpcEndpoint): Promise<RegistryError | undefined> => {
      try {
        // A signed transaction names its chain: one of another chain refuses it.
        await endpoint.request('eth_sendRawTransaction', [hexOf(raw)], signal)
        return undefined
      } catch (error) {
        signal?.throwIfAborted()
        return error as RegistryError
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
    const ask = async (endpoint: RpcEndpoint) => ({ endpoint, height: await endpoint.height(this.#chainId, signal) })
    for (const outcome of await Promise.allSettled(endpoints.map(ask))) {
      if (outcome.status === 'rejected') reasons.push((outcome.reason as Error).message)
      else if (best === undefined || outcome.value.height > best.height) best = outcome.value
    }
    signal?.throwIfAborted()
    return { endpoint: best?.endpoint, reasons }
  }
}
