import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { encodeUtf8, isRegistryError, messageOf, RegistryError } from '../kit/index.ts'
import { errnoOf } from '../files/errors.ts'
import { basicAuthorization, pauseAskedFor, pauseText, Proxies, sendOutside, type ProxySettings } from '../outside.ts'
import { hexOf } from '../../core/verify/chain/rlp.ts'
import { isObject, object, safeQuantity, type JsonObject } from './values.ts'

/** A block with all its transactions has some hundred kilobytes, so this is ample. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024
const MAX_REASON_CHARS = 200
/** A session sends several requests. */
const KEEP_CONNECTIONS = { keepAlive: true, timeout: 4_000 }

interface RpcOptions {
  readonly chainId: number
  /** Time limit of each request. */
  readonly timeoutMs: number
  readonly proxies?: ProxySettings | undefined
}

/** Calls that all go to the same node, so that their results are consistent. */
export interface RpcSession {
  /** The newest block when the session began. */
  readonly latest: JsonObject
  /** Returns the call's result. Throws `ANCHOR_FAILED`; later sessions then try the other nodes first. */
  request(method: string, params: readonly unknown[]): Promise<unknown>
  /** The same for calls that a node need not support: returns `undefined` if the node reports an error. */
  attempt(method: string, params: readonly unknown[]): Promise<unknown>
  /** As `request`, for old blocks: returns `undefined` once every node has reported that it has deleted them. */
  history(method: string, params: readonly unknown[]): Promise<unknown>
}

/** Several nodes of one chain. A session uses the first that responds. A node that fails becomes the last one. */
export class RpcEndpoints {
  readonly #chainId: number
  /** In the order in which they are tried. */
  #endpoints: readonly RpcEndpoint[]
  /** Those that have reported that they have deleted history. */
  readonly #pruned = new Set<RpcEndpoint>()

  /** Throws `CONFIG_ERROR` if there are no URLs, or one of them or of the proxies is not http or https. */
  constructor(urls: readonly string[], { chainId, timeoutMs, proxies }: RpcOptions) {
    const shared = { timeoutMs, proxies: new Proxies(proxies) }
    if (urls.length === 0) throw new RegistryError('CONFIG_ERROR', 'An EVM anchor needs at least one RPC URL')
    this.#endpoints = urls.map((url, i) => new RpcEndpoint(url, i + 1, shared))
    this.#chainId = chainId
  }

  /** Throws `CONFIG_ERROR` if a node belongs to another chain. Ignores nodes that do not respond. */
  async assertChain(signal?: AbortSignal): Promise<void> {
    const problems = await Promise.all(
      this.#endpoints.map((endpoint) => this.#problemOf(endpoint, signal).catch(() => undefined)),
    )
    signal?.throwIfAborted()
    const problem = problems.find((each) => each !== undefined)
    if (problem !== undefined) throw new RegistryError('CONFIG_ERROR', `${problem}: correct one of them`)
  }

  /**
   * Opens a session. Throws `ANCHOR_FAILED` with every node's reason if no node can be used, and with the shortest
   * pause if all ask for one.
   */
  async session(signal?: AbortSignal): Promise<RpcSession> {
    const reasons: string[] = []
    for (const endpoint of this.#endpoints)
      try {
        return await this.#open(endpoint, signal)
      } catch (error) {
        if (!isRegistryError(error)) throw error
        this.#tryLast(endpoint)
        reasons.push(error.message)
      }
    const retryAfterMs = Math.min(...this.#endpoints.map(({ pauseMs }) => pauseMs))
    const message = `No node can be used. ${reasons.sort().join('; ')}`
    throw new RegistryError('ANCHOR_FAILED', message, retryAfterMs > 0 ? { retryAfterMs } : {})
  }

  /** Sends a signed transaction to every node. Returns each node's error, or `undefined` if it accepted. */
  async sendToAll(raw: Uint8Array, signal?: AbortSignal): Promise<readonly (RegistryError | undefined)[]> {
    const send = async (endpoint: RpcEndpoint): Promise<RegistryError | undefined> => {
      try {
        // The chain is not checked here: a signed transaction names it, and nodes of other chains reject it.
        await endpoint.request('eth_sendRawTransaction', [hexOf(raw)], signal)
        return undefined
      } catch (error) {
        if (isRegistryError(error)) return error
        throw error
      }
    }
    return Promise.all(this.#endpoints.map(send))
  }

  /** Checks the chain each time, because another node may respond by then. */
  async #open(endpoint: RpcEndpoint, signal?: AbortSignal): Promise<RpcSession> {
    const problem = await this.#problemOf(endpoint, signal)
    if (problem !== undefined) throw new RegistryError('ANCHOR_FAILED', problem)
    const latest = object(await endpoint.request('eth_getBlockByNumber', ['latest', false], signal), 'newest block')
    // Also if the node only reports an error: it may be over its rate limit or lack the requested state.
    const withOrder = (result: Promise<unknown>): Promise<unknown> =>
      result.catch((error: unknown) => {
        this.#tryLast(endpoint)
        throw error
      })
    return {
      latest,
      request: (method, params) => withOrder(endpoint.request(method, params, signal)),
      attempt: (method, params) => withOrder(endpoint.attempt(method, params, signal)),
      history: (method, params) =>
        withOrder(endpoint.request(method, params, signal)).catch((error: unknown) => {
          if (!isRegistryError(error) || error.cause !== PRUNED) throw error
          this.#pruned.add(endpoint)
          if (this.#pruned.size < this.#endpoints.length) throw error
        }),
    }
  }

  /** `undefined` if the node belongs to the configured chain. */
  async #problemOf(endpoint: RpcEndpoint, signal?: AbortSignal): Promise<string | undefined> {
    const chainId = safeQuantity(await endpoint.request('eth_chainId', [], signal), 'eth_chainId')
    if (chainId === this.#chainId) return undefined
    return `${endpoint.label} belongs to chain ${chainId}, but the configured chain id is ${this.#chainId}`
  }

  /** Closes the connections that are not in use. */
  close(): void {
    for (const endpoint of this.#endpoints) endpoint.close()
  }

  #tryLast(endpoint: RpcEndpoint): void {
    this.#endpoints = [...this.#endpoints.filter((each) => each !== endpoint), endpoint]
  }
}

/** What a node responded: the error is its own. */
type Outcome = { readonly result: unknown } | { readonly error: string; readonly isPruned?: boolean }

/** The cause of an error that says that the node has deleted old history (EIP-4444). */
const PRUNED = 'pruned'
const PRUNED_CODE = 4444

/**
 * One node's JSON-RPC over HTTP. The URL may contain an API key in the path, the query or before the host, so errors do
 * not show it: they name the endpoint by its number in the configuration.
 */
class RpcEndpoint {
  /** Name in errors and logs. */
  readonly label: string
  readonly #url: URL
  readonly #headers: Readonly<Record<string, string>>
  readonly #secrets: readonly string[]
  readonly #timeoutMs: number
  readonly #proxies: Proxies
  readonly #agent: HttpAgent
  #requests = 0
  /** Until when the node asks not to be called, by `performance.now()`. */
  #pausedUntil = 0

  /** Throws `CONFIG_ERROR`, which does not show the URL, if it is not http or https. `number` counts from 1. */
  constructor(url: string, number: number, { timeoutMs, proxies }: { timeoutMs: number; proxies: Proxies }) {
    this.label = `RPC endpoint ${number}`
    const parsed = URL.canParse(url) ? new URL(url) : undefined
    if (parsed === undefined || !/^https?:$/.test(parsed.protocol))
      throw new RegistryError('CONFIG_ERROR', `${this.label} must be an http or https URL`)
    this.#secrets = secretsOf(url, parsed)
    const authorization = basicAuthorization(parsed, this.label)
    this.#headers = { 'content-type': 'application/json', ...(authorization && { authorization }) }
    parsed.username = parsed.password = ''
    this.#url = parsed
    this.#timeoutMs = timeoutMs
    this.#proxies = proxies
    this.#agent = new (parsed.protocol === 'https:' ? HttpsAgent : HttpAgent)(KEEP_CONNECTIONS)
  }

  /** For how long the node asks not to be called. 0 or less: it can be. */
  get pauseMs(): number {
    return this.#pausedUntil - performance.now()
  }

  close(): void {
    this.#agent.destroy()
  }

  /**
   * Returns the `result` of a call. Throws `ANCHOR_FAILED` if the node reports an error, responds with anything else,
   * or not in time, and the signal's reason if it is aborted.
   */
  async request(method: string, params: readonly unknown[], signal?: AbortSignal): Promise<unknown> {
    const outcome = await this.#post(method, params, signal)
    if ('error' in outcome) throw this.#error(method, outcome.error, outcome.isPruned === true ? PRUNED : undefined)
    return outcome.result
  }

  /** The same, but returns `undefined` if the node reports an error. */
  async attempt(method: string, params: readonly unknown[], signal?: AbortSignal): Promise<unknown> {
    const outcome = await this.#post(method, params, signal)
    return 'error' in outcome ? undefined : outcome.result
  }

  async #post(method: string, params: readonly unknown[], signal?: AbortSignal): Promise<Outcome> {
    signal?.throwIfAborted()
    const { pauseMs } = this
    if (pauseMs > 0) throw this.#error(method, pauseText(pauseMs))
    const id = ++this.#requests
    const timeout = AbortSignal.timeout(this.#timeoutMs)
    try {
      const { response, body } = await sendOutside({
        url: this.#url,
        proxies: this.#proxies,
        agent: this.#agent,
        headers: this.#headers,
        body: encodeUtf8(JSON.stringify({ jsonrpc: '2.0', id, method, params })),
        maxBytes: MAX_RESPONSE_BYTES,
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      })
      this.#pausedUntil = performance.now() + (pauseAskedFor(response) ?? 0)
      return outcomeOf(Buffer.from(body).toString(), id, response.statusCode ?? 0)
    } catch (error) {
      signal?.throwIfAborted()
      throw this.#error(method, timeout.aborted ? `no response after ${this.#timeoutMs} ms` : describe(error))
    }
  }

  /** Without the cause of a failed request, because it names the address. */
  #error(method: string, reason: string, cause?: typeof PRUNED): RegistryError {
    const shown = this.#secrets.reduce((text, secret) => text.replaceAll(secret, '…'), reason)
    return new RegistryError('ANCHOR_FAILED', `${this.label}: ${method}: ${shown.slice(0, MAX_REASON_CHARS)}`, {
      cause,
    })
  }
}

/** The parts of a URL that may be or contain a key, longest first. */
function secretsOf(given: string, { href, host, hostname, pathname, search, searchParams, username, password }: URL) {
  const parts = [given, href, host, hostname, pathname, search, username, password]
  parts.push(...pathname.split('/'), ...searchParams.values())
  // Shorter parts are not keys, and hiding them would garble the reason.
  return [...new Set(parts)].filter((part) => part.length >= 6).sort((a, b) => b.length - a.length)
}

/** Nodes also reject single calls with 4xx, but 429 and 5xx are about the node. Throws if it is not JSON-RPC. */
function outcomeOf(text: string, id: number, status: number): Outcome {
  const body = parseJson(text)
  const error = isObject(body) && isObject(body.error) ? reasonOf(body.error) : undefined
  if (status === 429 || status >= 500) throw new Error(error ?? `HTTP ${status}`)
  if (error !== undefined) return { error, isPruned: isObject(body) && isPruned(body.error) }
  if (isObject(body) && body.id === id && 'result' in body) return { result: body.result }
  throw new Error(status === 200 ? 'the response is not JSON-RPC' : `HTTP ${status}`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isPruned = (error: unknown): boolean =>
  isObject(error) && (error.code === PRUNED_CODE || /\bpruned\b/i.test(String(error.message)))

/** The node's own `message` and code. */
function reasonOf({ code, message }: JsonObject): string {
  return `${typeof message === 'string' ? message : 'rejected'} (${typeof code === 'number' ? code : 'no code'})`
}

/** Returns the code of an error of the system, or the message of another one. */
function describe(error: unknown): string {
  return errnoOf(error) ?? messageOf(error)
}
