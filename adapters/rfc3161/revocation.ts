import { isIP } from 'node:net'
import { sha256Of, toHex } from '../../core/bytes.ts'
import type { Clock, Logger, ValidationData } from '../../core/ports.ts'
import { MAX_VALIDATION_DATA_BYTES } from '../../core/verify/revocation-status.ts'
import { revocationAddresses, revocationStatus, type RevocationAddresses } from '../../core/verify/revocation.ts'
import { exchange, failed } from './exchange.ts'
import { isPublicAddress, publicLookup } from './public-address.ts'
import { ocspQuery } from './queries.ts'

/**
 * Whom to ask for CRLs and OCSP answers: nobody, those on public addresses, or any. The addresses stand in certificates, so a CA chooses
 * them: `public` keeps it from having this machine ask its own network.
 */
export type RevocationReach = 'none' | 'public' | 'any'

/** An answer serves all tokens of an hour; one that could not be had is asked for again after ten minutes. */
const KEPT_MS = 3_600_000
const RETRY_MS = 600_000
const MAX_ADDRESSES = 2
const MAX_CERTIFICATES = 64

export interface RevocationOptions {
  readonly reach: RevocationReach
  readonly timeoutMs: number
  readonly clock: Clock
  readonly logger?: Logger | undefined
}

interface Kept {
  readonly pieces: Promise<readonly ValidationData[]>
  readonly until: number
}

/** Asks for what says whether certificates are revoked. Best effort: what cannot be had, or is not signed by whom it should be, is left out. */
export class RevocationSource {
  readonly #options: RevocationOptions
  readonly #closing: AbortSignal
  /** By certificate and issuer. */
  readonly #kept = new Map<string, Kept>()

  constructor(options: RevocationOptions, closing: AbortSignal) {
    this.#options = options
    this.#closing = closing
  }

  /**
   * An OCSP answer about the certificate (DER) under its issuer, or else a CRL; nothing where there is neither. The certificates must lead to a
   * trust anchor: nobody else has a say in whom this asks.
   */
  async piecesOn(certificate: Uint8Array, issuer: Uint8Array): Promise<readonly ValidationData[]> {
    if (this.#options.reach === 'none') return []
    const now = this.#options.clock.now()
    const id = toHex(sha256Of(certificate, issuer))
    const kept = this.#kept.get(id)
    // Also where the clock was set back.
    if (kept !== undefined && now < kept.until && now >= kept.until - KEPT_MS) return kept.pieces
    const pieces = this.#ask(certificate, issuer)
    this.#keep(id, { pieces, until: now + KEPT_MS })
    if ((await pieces).length === 0) this.#keep(id, { pieces, until: now + RETRY_MS })
    return pieces
  }

  #keep(id: string, kept: Kept): void {
    this.#kept.delete(id)
    this.#kept.set(id, kept)
    // In the order of their coming: the oldest goes.
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > MAX_CERTIFICATES && oldest !== undefined) this.#kept.delete(oldest)
  }

  async #ask(certificate: Uint8Array, issuer: Uint8Array): Promise<readonly ValidationData[]> {
    const { ocsp, crl, certId } = addressesOf(certificate, issuer)
    const tries: readonly (() => Promise<ValidationData>)[] = [
      ...ocsp.slice(0, MAX_ADDRESSES).map((address) => async () => {
        const body = { type: 'application/ocsp-request', bytes: ocspQuery(certId) }
        const der = await this.#fetch(address, { body, answerType: 'application/ocsp-response' })
        return { type: 'ocsp', der } as const
      }),
      ...crl.slice(0, MAX_ADDRESSES).map((address) => async () => {
        return { type: 'crl', der: await this.#fetch(address) } as const
      }),
    ]
    for (const attempt of tries) {
      try {
        const piece = await attempt()
        if (revocationStatus(certificate, issuer, [piece]).state !== 'unknown') return [piece]
        throw failed(piece.type, 'the answer is not about the certificate, or not signed by its issuer')
      } catch (err) {
        if (this.#closing.aborted) return []
        this.#options.logger?.warn({ err }, 'nothing was learnt about the revocation of a timestamp certificate')
      }
    }
    return []
  }

  async #fetch(
    address: string,
    request: {
      readonly body?: { readonly type: string; readonly bytes: Uint8Array }
      readonly answerType?: string
    } = {},
  ): Promise<Uint8Array> {
    const url = new URL(address)
    const { reach, timeoutMs } = this.#options
    const isPublicOnly = reach !== 'any'
    const host = url.hostname.replace(/^\[|\]$/g, '')
    // An address in the place of a name is not looked up.
    if (isPublicOnly && isIP(host) !== 0 && !isPublicAddress(host)) throw failed(url.host, 'it is no public address')
    url.username = url.password = ''
    return exchange({
      name: url.host,
      url,
      maxBytes: MAX_VALIDATION_DATA_BYTES,
      timeoutMs,
      signal: this.#closing,
      ...request,
      ...(isPublicOnly && { lookup: publicLookup }),
    })
  }
}

const NOWHERE: RevocationAddresses = {
  ocsp: [],
  crl: [],
  certId: { nameHash: new Uint8Array(), keyHash: new Uint8Array(), serialNumber: new Uint8Array() },
}

/** A certificate whose addresses cannot be read names none. */
function addressesOf(certificate: Uint8Array, issuer: Uint8Array): RevocationAddresses {
  try {
    return revocationAddresses(certificate, issuer)
  } catch {
    return NOWHERE
  }
}
