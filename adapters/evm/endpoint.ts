import { Buffer } from 'node:buffer'
import { RegistryError } from '../../core/errors.ts'
import { isObject, safeQuantity, type JsonObject } from './quantity.ts'

/** A block with all its transactions takes some hundred kilobytes; more than this no node has to say. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024
const MAX_REASON_CHARS = 200

/**
 * One node's JSON-RPC over HTTP. Its URL may hold an API key, in the path, the query or before the host: it is in no error, which
 * name the endpoint by its place in the configuration.
 */
export class RpcEndpoint {
  /** As errors and logs name it. */
  readonly label: string
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #secrets: readonly string[]
  readonly #timeoutMs: number
  /** Known to be of the right chain since it last failed. */
  #isChecked = false
  #hasFailed = false
  #requests = 0

  /** Throws `CONFIG_ERROR` for what is no http or https URL, without showing it. */
  constructor(url: string, place: number, timeoutMs: number) {
    this.label = `RPC endpoint ${place}`
    const parsed = URL.canParse(url) ? new URL(url) : undefined
    if (parsed === undefined || !/^https?:$/.test(parsed.protocol))
      throw new RegistryError('CONFIG_ERROR', `${this.label} takes an http or https URL`)
    this.#secrets = secretsOf(url, parsed)
    const { username, password } = parsed
    // fetch refuses credentials in a URL.
    const basic = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')
    this.#headers = {
      'content-type': 'application/json',
      ...((username !== '' || password !== '') && { authorization: `Basic ${basic}` }),
    }
    parsed.username = parsed.password = ''
    this.#url = parsed.href
    this.#timeoutMs = timeoutMs
  }

  /** Whether it was of no use when it was last asked: the others come first. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  /** It may have become another node: it is checked again before it is used again. */
  markFailed(): void {
    this.#hasFailed = true
    this.#isChecked = false
  }

  /**
   * The `result` of a call. Throws `ANCHOR_FAILED` where the node refuses, answers something else, or not in time (all but a refusal
   * marks it as failed); the signal's reason where it is aborted.
   */
  async request(method: string, params: readonly unknown[], signal?: AbortSignal): Promise<unknown> {
    signal?.throwIfAborted()
    const { result, error } = await this.#post(method, params, signal)
    if (isObject(error)) throw this.#error(method, reasonOf(error))
    return result
  }

  /** The number of its newest block. The first time, and again after each failure, it must say that it is of this chain. */
  async height(chainId: number, signal?: AbortSignal): Promise<number> {
    if (!this.#isChecked) {
      const actual = await this.chainId(signal)
      if (actual !== chainId)
        throw this.#error('eth_chainId', `it is of chain ${actual}, and the configured chain id is ${chainId}`)
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
      const answer = jsonOf(await readLimited(response))
      // Nodes refuse single calls with 4xx too; these are about the node.
      if (response.status === 429 || response.status >= 500) this.markFailed()
      if (isObject(answer) && (isObject(answer.error) || (answer.id === id && 'result' in answer))) return answer
      throw new Error(response.ok ? 'the answer is none of JSON-RPC' : `HTTP ${response.status}`)
    } catch (error) {
      signal?.throwIfAborted()
      this.markFailed()
      throw this.#error(method, timeout.aborted ? `no answer after ${this.#timeoutMs} ms` : describe(error))
    }
  }

  /** Its cause is left out: what fetch says names the address. */
  #error(method: string, reason: string): RegistryError {
    const shown = this.#secrets.reduce((text, secret) => text.replaceAll(secret, '…'), reason)
    return new RegistryError('ANCHOR_FAILED', `${this.label}: ${method}: ${shown.slice(0, MAX_REASON_CHARS)}`)
  }
}

/** The parts of a URL that may be or hold a key, longest first. */
function secretsOf(given: string, { href, host, hostname, pathname, search, searchParams, username, password }: URL) {
  const parts = [given, href, host, hostname, pathname, search, username, password]
  parts.push(...pathname.split('/'), ...searchParams.values())
  // What is shorter is no key, and would cut words out of the reason.
  return [...new Set(parts)].filter((part) => part.length >= 6).sort((a, b) => b.length - a.length)
}

async function readLimited(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += (chunk as Uint8Array).length
    if (size > MAX_ANSWER_BYTES) throw new Error(`its answer is larger than ${MAX_ANSWER_BYTES} bytes`)
    chunks.push(chunk as Uint8Array)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** The node's own words: `message`, and its code. */
function reasonOf({ code, message }: JsonObject): string {
  return `${typeof message === 'string' ? message : 'refused'} (${typeof code === 'number' ? code : 'no code'})`
}

/** Of fetch's own words only the code is of use, and its cause's text where there is none. */
function describe(error: unknown): string {
  const { cause, message } = error as Error & {
    readonly cause?: { readonly code?: unknown; readonly message?: unknown }
  }
  if (typeof cause?.code === 'string') return cause.code
  return typeof cause?.message === 'string' ? cause.message : message
}
