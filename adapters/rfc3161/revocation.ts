import { isIP } from 'node:net'
import {
  BoundedMap,
  isRegistryError,
  sha256Of,
  toHex,
  type Clock,
  type Logger,
  type ValidationData,
} from '../kit/index.ts'
import { derOfPem, MAX_CRL_BYTES, MAX_VALIDATION_DATA_BYTES, revocationStatus } from '../../core/verify/tokens.ts'
import { revocationAddresses, type RevocationAddresses } from '../../core/verify/tokens/revocation-addresses.ts'
import type { Proxies } from '../outside.ts'
import { authorityError, exchange } from './exchange.ts'
import { isPublicAddress, publicLookup } from './public-address.ts'
import { ocspQuery } from './queries.ts'

/**
 * From which addresses CRLs and OCSP responses are fetched: none, public ones only, or any. A CA chooses the addresses,
 * which are in its certificates. `public` prevents a CA from making this machine send requests into the operator's own
 * network.
 */
export type RevocationReach = 'none' | 'public' | 'any'

/** Data is reused for an hour. If there is none, it is requested again after ten minutes. */
const CACHE_MS = 3_600_000
const RETRY_MS = 600_000
const MAX_ADDRESSES = 2
const MAX_CERTIFICATES = 64

interface RevocationOptions {
  readonly reach: RevocationReach
  readonly proxies: Proxies
  readonly timeoutMs: number
  readonly clock: Clock
  readonly logger?: Logger | undefined
}

/** Data, or else after which time it is requested again. */
interface Fetched {
  readonly data: readonly ValidationData[]
  readonly retryMs: number
}

/** DER. */
interface Link {
  readonly certificate: Uint8Array
  readonly issuer: Uint8Array
}

interface CacheEntry {
  readonly fetched: Promise<Fetched>
  /** ms since 1970. */
  readonly from: number
  readonly until: number
}

/**
 * Fetches and caches revocation data of certificates. Best effort: data that cannot be fetched, or is not signed by the
 * right key, is left out.
 */
export class RevocationSource {
  readonly #options: RevocationOptions
  readonly #closing: AbortSignal
  /** By certificate and issuer. */
  readonly #cache = new BoundedMap<string, CacheEntry>(MAX_CERTIFICATES)

  constructor(options: RevocationOptions, closing: AbortSignal) {
    this.#options = options
    this.#closing = closing
  }

  /**
   * Returns an OCSP response about the certificate (DER) of this issuer at a time (ms since 1970), or else a CRL, or
   * nothing. Requires certificates that lead to a trust anchor, because their issuers choose the addresses of these
   * requests.
   */
  async validationDataFor({ certificate, issuer }: Link, at: number): Promise<readonly ValidationData[]> {
    if (this.#options.reach === 'none') return []
    const now = this.#options.clock.now()
    const id = toHex(sha256Of(certificate, issuer))
    const cached = this.#cache.get(id)
    // The second condition fails if the clock was set back.
    if (cached !== undefined && now < cached.until && now >= cached.from) {
      const { data: known } = await cached.fetched
      // A response without a time of the next one is only about the tokens before it.
      if (known.length === 0 || revocationStatus(certificate, issuer, known, at).state !== 'unknown') return known
    }
    const fetched = this.#fetchFor({ certificate, issuer }, at)
    this.#cache.set(id, { fetched, from: now, until: now + CACHE_MS })
    const { data, retryMs } = await fetched
    if (data.length === 0) this.#cache.set(id, { fetched, from: now, until: now + retryMs })
    return data
  }

  async #fetchFor({ certificate, issuer }: Link, at: number): Promise<Fetched> {
    const { ocsp, crl, certId } = addressesOf(certificate, issuer)
    const attempts: readonly (() => Promise<ValidationData>)[] = [
      ...ocsp.slice(0, MAX_ADDRESSES).map((address) => async () => {
        const body = { type: 'application/ocsp-request', bytes: ocspQuery(certId) }
        const der = await this.#fetch(address, { body, responseType: 'application/ocsp-response' })
        return { type: 'ocsp', der } as const
      }),
      ...crl.slice(0, MAX_ADDRESSES).map((address) => async () => {
        return { type: 'crl', der: derOfPem(await this.#fetch(address, { maxBytes: MAX_CRL_BYTES })) } as const
      }),
    ]
    let retryMs = RETRY_MS
    for (const attempt of attempts) {
      try {
        const data = await attempt()
        const status = revocationStatus(certificate, issuer, [data], at)
        if (status.state !== 'unknown') return { data: [data], retryMs }
        throw authorityError(data.type, status.why ?? 'the response is not about the certificate')
      } catch (err) {
        if (this.#closing.aborted) break
        if (isRegistryError(err)) retryMs = Math.max(retryMs, err.retryAfterMs ?? 0)
        this.#options.logger?.warn({ err }, 'could not fetch revocation data of a timestamp certificate')
      }
    }
    return { data: [], retryMs }
  }

  async #fetch(
    address: string,
    request: {
      readonly body?: { readonly type: string; readonly bytes: Uint8Array }
      readonly responseType?: string
      readonly maxBytes?: number
    } = {},
  ): Promise<Uint8Array> {
    const url = new URL(address)
    const { reach, proxies, timeoutMs } = this.#options
    const isPublicOnly = reach !== 'any'
    const host = url.hostname.replace(/^\[|\]$/g, '')
    // `lookup` is not called for an address, so it is checked here.
    if (isPublicOnly && isIP(host) !== 0 && !isPublicAddress(host))
      throw authorityError(url.host, 'it is not a public address')
    url.username = url.password = ''
    return exchange({
      name: url.host,
      url,
      proxies,
      maxBytes: MAX_VALIDATION_DATA_BYTES,
      timeoutMs,
      signal: this.#closing,
      ...request,
      ...(isPublicOnly && { lookup: publicLookup }),
    })
  }
}

const NO_ADDRESSES: RevocationAddresses = {
  ocsp: [],
  crl: [],
  certId: { nameHash: new Uint8Array(), keyHash: new Uint8Array(), serialNumber: new Uint8Array() },
}

/** Returns no addresses if those of the certificate cannot be read. */
function addressesOf(certificate: Uint8Array, issuer: Uint8Array): RevocationAddresses {
  try {
    return revocationAddresses(certificate, issuer)
  } catch {
    return NO_ADDRESSES
  }
}
