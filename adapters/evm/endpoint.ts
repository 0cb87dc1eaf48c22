import { Buffer } from 'node:buffer'
import { RegistryError } from '../kit/index.ts'
import { isObject, safeQuantity, type JsonObject } from './quantity.ts'

/** A block with all its transactions has some hundred kilobytes, so this is ample. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024
const MAX_REASON_CHARS = 200

/**
 * One node's JSON-RPC over HTTP. The URL may contain an API key in the path, the query or before the host, so errors do
 * not show it: they name the endpoint by its number in the configuration.
 */
export class RpcEndpoint {
  /** Name in errors and logs. */
  readonly label: string
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #secrets: readonly string[]
  readonly #timeoutMs: number
  /** Its chain id was checked after its last failure. */
  #isChecked = false
  #hasFailed = false
  #requests = 0

  /** Throws `CONFIG_ERROR`, which does not show the URL, if it is not http or https. `number` counts from 1. */
  constructor(url: string, number: number, timeoutMs: number) {
    this.label = `RPC endpoint ${number}`
    const parsed = URL.canParse(url) ? new URL(url) : undefined
    if (parsed === undefined || !/^https?:$/.test(parsed.protocol))
      throw new RegistryError('CONFIG_ERROR', `${this.label} must be an http or https URL`)
    this.#secrets = secretsOf(url, parsed)
    const { username, password } = parsed
    // fetch rejects credentials in a URL.
    const basic = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')
    this.#headers = {
      'content-type': 'application/json',
      ...((username !== '' || password !== '') && { authorization: `Basic ${basic}` }),
    }
    parsed.username = parsed.password = ''
    this.#url = parsed.href
    this.#timeoutMs = timeoutMs
  }

  /** Whether its last request failed: then the other endpoints are tried first. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  /** Its chain is checked again before the next use, because another node may respond by then. */
  markFailed(): void {
    this.#hasFailed = true
    this.#isChecked = false
  }

  /**
   * Returns the `result` of a call. Throws `ANCHOR_FAILED` if the node reports an error, responds with anything else,
   * or not in time; all but the first mark the endpoint as failed. Throws the signal's reason if it is aborted.
   */
  async request(method: string, params: readonly unknown[], signal?: AbortSignal): Promise<unknown> {
    signal?.throwIfAborted()
    const { result, error } = await this.#post(method, params, signal)
    if (isObject(error)) throw this.#error(method, reasonOf(error))
    return result
  }

  /** Returns the number of its newest block. Checks its chain at the first use and after each failure. */
  async height(chainId: number, signal?: AbortSignal): Promise<number> {
    if (!this.#isChecked) {
      const actual = await this.chainId(signal)
      if (actual !== chainId)
        throw this.#error('eth_chainId', `it belongs to chain ${actual}, but the configured chain id is ${chainId}`)
      this.#isChecked = true
    }
    const height = safeQuantity(await this.request('eth_blockNumber', [], signal), 'eth_blockNumber')
    this.#hasFailed = false
    return height
  }

  async chainId(signal?: AbortSignal): Promise<number> {
    return safeQuantity(await this.request('eth_chainId', [], signal), 'eth_chainId')
  }

  async #post(method: string, params: readonly unknown[], signal?: AbortSignal): Promise<JsonObject> {
    const id = ++this.#requests
    const timeout = AbortSignal.timeout(this.#timeoutMs)
    try {
      const response = await fetch(this.#url, {
        method: 'POST',
        headers: this.#headers,
        body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
        redirect: 'error',
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      })
      const body = parseJson(await readLimited(response))
      // Nodes also reject single calls with 4xx; these codes are about the node.
      if (response.status === 429 || response.status >= 500) this.markFailed()
      if (isObject(body) && (isObject(body.error) || (body.id === id && 'result' in body))) return body
      throw new Error(response.ok ? 'the response is not JSON-RPC' : `HTTP ${response.status}`)
    } catch (error) {
      signal?.throwIfAborted()
      this.markFailed()
      throw this.#error(method, timeout.aborted ? `no response after ${this.#timeoutMs} ms` : describe(error))
    }
  }

  /** Without a cause, because errors of fetch name the address. */
  #error(method: string, reason: string): RegistryError {
    const shown = this.#secrets.reduce((text, secret) => text.replaceAll(secret, '…'), reason)
    return new RegistryError('ANCHOR_FAILED', `${this.label}: ${method}: ${shown.slice(0, MAX_REASON_CHARS)}`)
  }
}

/** The parts of a URL that may be or contain a key, longest first. */
function secretsOf(given: string, { href, host, hostname, pathname, search, searchParams, username, password }: URL) {
  const parts = [given, href, host, hostname, pathname, search, username, password]
  parts.push(...pathname.split('/'), ...searchParams.values())
  // Shorter parts are not keys, and hiding them would garble the reason.
  return [...new Set(parts)].filter((part) => part.length >= 6).sort((a, b) => b.length - a.length)
}

async function readLimited(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  const body: AsyncIterable<Uint8Array> | readonly Uint8Array[] = response.body ?? []
  for await (const chunk of body) {
    size += chunk.length
    if (size > MAX_RESPONSE_BYTES) throw new Error(`its response is larger than ${MAX_RESPONSE_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The node's own `message` and code. */
function reasonOf({ code, message }: JsonObject): string {
  return `${typeof message === 'string' ? message : 'rejected'} (${typeof code === 'number' ? code : 'no code'})`
}

/** Returns the code of fetch's cause, or its message if there is no code. */
function describe(error: unknown): string {
  const { cause, message } = error as Error & {
    readonly cause?: { readonly code?: unknown; readonly message?: unknown }
  }
  if (typeof cause?.code === 'string') return cause.code
  return typeof cause?.message === 'string' ? cause.message : message
}
