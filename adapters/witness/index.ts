import { createHash } from 'node:crypto'
import { decodeUtf8, RegistryError, type WitnessClient, type WitnessResponse } from '../kit/index.ts'
import { errnoOf } from '../files/errors.ts'
import { Proxies, ResponseError, sendOutside, type OutsideRequest, type ProxySettings } from '../outside.ts'

/** Settings of the client for witnesses. */
export interface WitnessClientOptions {
  /** Time limit from the request to the last byte of the response, ms. Default 10,000. */
  readonly timeoutMs?: number
  /** Default: none. */
  readonly proxies?: ProxySettings
}

/** A cosignature with ML-DSA-44 has 3.3 KB, and a witness may send several. */
const MAX_RESPONSE_BYTES = 64 * 1024
const SIZE_TYPE = 'text/x.tlog.size'

/**
 * Creates a client for the HTTP API of witnesses (https://c2sp.org/tlog-witness). Follows no redirects, and repeats
 * nothing.
 *
 * @example
 * import { createWitnessClient } from 'evidence-registry/adapters/witness'
 *
 * const client = createWitnessClient({ timeoutMs: 5_000 })
 */
export function createWitnessClient({ timeoutMs = 10_000, proxies }: WitnessClientOptions = {}): WitnessClient {
  const options = { timeoutMs, proxies: new Proxies(proxies) }
  return {
    addCheckpoint: async (prefix, body, signal) =>
      responseOf(await exchange(prefix, 'add-checkpoint', { ...options, body, signal })),
    async readCheckpoint(prefix, origin, signal) {
      const log = createHash('sha256').update(origin, 'utf8').digest('hex')
      const { host, status, text } = await exchange(prefix, `${log}/checkpoint`, { ...options, signal })
      if (status !== 200 && status !== 404) throw failed(host, `it responded with HTTP ${status}`)
      return status === 200 ? text : undefined
    },
  }
}

interface ExchangeOptions extends Pick<OutsideRequest, 'proxies' | 'body'> {
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

/** Sends one request. Throws `WITNESS_FAILED` without a whole response in time, or the reason of `signal`. */
async function exchange(prefix: string, path: string, { timeoutMs, signal, ...request }: ExchangeOptions) {
  const url = URL.parse(`${prefix.replace(/\/+$/, '')}/${path}`)
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') throw failed(prefix, 'its URL must be http or https')
  const { host } = url
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    const { response, body } = await sendOutside({
      ...request,
      url,
      headers: { Accept: '*/*', 'Content-Type': 'text/plain; charset=utf-8' },
      maxBytes: MAX_RESPONSE_BYTES,
      agent: false,
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    })
    const [type] = (response.headers['content-type'] ?? '').split(';')
    return { host, status: response.statusCode ?? 0, type: type?.trim().toLowerCase(), text: decodeUtf8(body) }
  } catch (error) {
    if (signal?.aborted === true) throw signal.reason
    if (error instanceof ResponseError) throw failed(host, error.message)
    if (timeout.aborted) throw failed(host, `no complete response within ${timeoutMs} ms`)
    throw failed(host, `it cannot be reached, or its response cannot be read (${errnoOf(error) ?? 'unknown'})`)
  }
}

/** A 409 of another type says that the size is equal and the root is not: so did version 1.0.0 of the specification. */
function responseOf({ host, status, type, text }: Awaited<ReturnType<typeof exchange>>): WitnessResponse {
  if (status === 200) return { state: 'cosigned', lines: text }
  if (status === 422 || (status === 409 && type !== SIZE_TYPE)) return { state: 'other-history' }
  if (status === 409 && /^(0|[1-9]\d{0,14})\n$/.test(text)) return { state: 'other-size', size: Number(text) }
  throw failed(host, `it responded with HTTP ${status}, which with 403 or 404 means that it does not know this log`)
}

const failed = (host: string, reason: string): RegistryError =>
  new RegistryError('WITNESS_FAILED', `${host}: ${reason}`)
