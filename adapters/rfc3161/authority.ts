import { createHash, randomBytes } from 'node:crypto'
import { encodeUtf8, equalBytes, toBase64 } from '../../core/bytes.ts'
import { systemClock, untilAborted } from '../../core/clock.ts'
import { isRegistryError, RegistryError } from '../../core/errors.ts'
import type { Clock, Logger, TimestampAuthority, TimestampAuthorityInfo, ValidationData } from '../../core/ports.ts'
import { parseCertificate } from '../../core/verify/certificate.ts'
import { voidsTimestamp } from '../../core/verify/revocation-status.ts'
import { revocationStatus } from '../../core/verify/revocation.ts'
import { MAX_TIMESTAMP_BYTES } from '../../core/verify/timestamp-info.ts'
import {
  MAX_CLOCK_SKEW_MS,
  parseTimestampResponse,
  timestampCertificates,
  verifyTimestamp,
} from '../../core/verify/timestamp.ts'
import { exchange, failed } from './exchange.ts'
import { timestampQuery, type ImprintHash } from './queries.ts'
import { RevocationSource, type RevocationReach } from './revocation.ts'

export interface Rfc3161Options {
  /** http or https. A name and password in it are sent as Basic authentication, over https only, and never shown. */
  readonly url: string
  /** DER certificates (`readTrustAnchors`) that the authority's tokens must lead to. */
  readonly trustAnchors: readonly Uint8Array[]
  /** Default: host and path of the address. */
  readonly name?: string
  /** Dotted OID: asked for, and then the token must have it. Default: what the authority chooses. */
  readonly policy?: string
  /** Hash of the imprint. Default `sha256`. */
  readonly hash?: ImprintHash
  /** From the request to the last byte of the answer. Default 10,000. */
  readonly timeoutMs?: number
  /** genTime may be so far from this machine's clock, ms. Default five minutes. */
  readonly maxSkewMs?: number
  /** Whom to ask for CRLs and OCSP answers. Default `public`. */
  readonly revocation?: RevocationReach
  /** PEM of the CAs of an https address. Default: those of Node. */
  readonly tlsCa?: string
  readonly clock?: Clock
  readonly logger?: Logger
}

/** Revocation is asked for after each token: it may not keep the token waiting for long. */
const MAX_REVOCATION_MS = 10_000
/** RFC 3161 § 2.4.1 names 64 bits; some authorities take no more. */
const NONCE_BYTES = 8
const MAX_TIMEOUT_MS = 600_000

/** A timestamp authority behind an address. Asks it for nothing yet. Throws `CONFIG_ERROR` for options that cannot be used. */
export const createRfc3161Authority = (options: Rfc3161Options): Rfc3161Authority => new Rfc3161Authority(options)

/**
 * RFC 3161 over HTTP (§ 3.4). A token is given only once everything about it is checked: status, imprint, nonce, policy, signature, purpose and path
 * to a trust anchor at genTime (`verifyTimestamp`), and that genTime is the present. Make it with `createRfc3161Authority`.
 */
export class Rfc3161Authority implements TimestampAuthority {
  readonly info: TimestampAuthorityInfo
  readonly #url: URL
  readonly #headers: Readonly<Record<string, string>>
  readonly #policy: string | undefined
  readonly #hash: ImprintHash
  readonly #timeoutMs: number
  readonly #maxSkewMs: number
  readonly #tlsCa: string | undefined
  readonly #clock: Clock
  readonly #revocation: RevocationSource
  readonly #closing = new AbortController()

  constructor(options: Rfc3161Options) {
    const { url, authorization } = addressOf(options.url)
    const name = options.name ?? `${url.host}${url.pathname.replace(/\/$/, '')}`
    this.info = { name, assurance: 'independent', trustAnchors: anchorsOf(name, options.trustAnchors) }
    this.#url = url
    this.#headers = authorization === undefined ? {} : { Authorization: authorization }
    this.#policy = policyOf(name, options.policy)
    this.#hash = options.hash ?? 'sha256'
    this.#timeoutMs = options.timeoutMs ?? 10_000
    if (!Number.isSafeInteger(this.#timeoutMs) || this.#timeoutMs < 1 || this.#timeoutMs > MAX_TIMEOUT_MS)
      throw refuse(`${name}: timeoutMs takes a whole number from 1 to ${MAX_TIMEOUT_MS}, not ${this.#timeoutMs}`)
    this.#maxSkewMs = options.maxSkewMs ?? MAX_CLOCK_SKEW_MS
    this.#tlsCa = options.tlsCa
    this.#clock = options.clock ?? systemClock
    this.#revocation = new RevocationSource(
      {
        reach: options.revocation ?? 'public',
        timeoutMs: Math.min(this.#timeoutMs, MAX_REVOCATION_MS),
        clock: this.#clock,
        logger: options.logger,
      },
      this.#closing.signal,
    )
  }

  async stamp(bytes: Uint8Array, signal?: AbortSignal): Promise<Uint8Array> {
    this.#assertOpen()
    signal?.throwIfAborted()
    const digest = new Uint8Array(createHash(this.#hash).update(bytes).digest())
    const nonce = new Uint8Array(randomBytes(NONCE_BYTES))
    const sentAt = this.#clock.now()
    const response = await exchange({
      name: this.info.name,
      url: this.#url,
      headers: this.#headers,
      body: {
        type: 'application/timestamp-query',
        bytes: timestampQuery({ hash: this.#hash, digest, nonce, policy: this.#policy }),
      },
      answerType: 'application/timestamp-reply',
      maxBytes: MAX_TIMESTAMP_BYTES,
      timeoutMs: this.#timeoutMs,
      tlsCa: this.#tlsCa,
      signal: signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]),
    })
    this.#assertToken(response, { digest, nonce, sentAt })
    return response
  }

  async validationDataOf(response: Uint8Array, signal?: AbortSignal): Promise<readonly ValidationData[]> {
    this.#assertOpen()
    signal?.throwIfAborted()
    const { trustAnchors } = this.info
    const { imprint, genTime } = parseTimestampResponse(response)
    const path = timestampCertificates(response, { digest: imprint, trustAnchors })
    const links = path.slice(0, -1).map((certificate, i) => ({ certificate, issuer: path[i + 1] as Uint8Array }))
    // If the caller aborts, the requests go on: their results are cached for the next token.
    const pieces = await untilAborted(
      Promise.all(links.map(({ certificate, issuer }) => this.#revocation.piecesOn(certificate, issuer))),
      signal,
    )
    for (const [i, { certificate, issuer }] of links.entries())
      if (voidsTimestamp(revocationStatus(certificate, issuer, pieces[i] ?? []), genTime))
        throw failed(this.info.name, 'a certificate of its token is revoked')
    // The other certificates of the path came in the token.
    const anchors = path.filter((certificate) => trustAnchors.some((anchor) => equalBytes(anchor, certificate)))
    return [...anchors.map((der) => ({ type: 'certificate', der }) as const), ...withoutDoubles(pieces.flat())]
  }

  /** Calls under way are given up. */
  async close(): Promise<void> {
    if (!this.#closing.signal.aborted) this.#closing.abort(closed(this.info.name))
  }

  #assertOpen(): void {
    if (this.#closing.signal.aborted) throw closed(this.info.name)
  }

  #assertToken(
    response: Uint8Array,
    { digest, nonce, sentAt }: { readonly digest: Uint8Array; readonly nonce: Uint8Array; readonly sentAt: number },
  ): void {
    const { name, trustAnchors } = this.info
    let genTime: number
    try {
      const policy = this.#policy === undefined ? {} : { policy: this.#policy }
      genTime = verifyTimestamp(response, { digest, nonce, trustAnchors, ...policy }).genTime
    } catch (error) {
      if (isRegistryError(error, 'VERIFICATION_FAILED')) throw failed(name, error.message, error)
      throw error
    }
    const now = this.#clock.now()
    if (genTime < sentAt - this.#maxSkewMs || genTime > now + this.#maxSkewMs)
      throw failed(
        name,
        `its genTime is ${Math.round((genTime - now) / 1000)} s from this machine's clock: one of the two is wrong`,
      )
  }
}

const refuse = (message: string, cause?: unknown): RegistryError =>
  new RegistryError('CONFIG_ERROR', message, { cause })

const closed = (name: string): RegistryError =>
  new RegistryError('CLOSED', `The client of the timestamp authority ${name} is closed`)

/** Errors never quote the address: it may hold a password. */
function addressOf(text: string): { readonly url: URL; readonly authorization: string | undefined } {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw refuse('The address of a timestamp authority is an http or https URL')
  const { username, password } = url
  url.username = url.password = url.hash = ''
  if (username === '' && password === '') return { url, authorization: undefined }
  if (url.protocol !== 'https:')
    throw refuse(`The password for ${url.host} would be sent for anybody to read: use https, or leave it out`)
  try {
    const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
    return { url, authorization: `Basic ${toBase64(encodeUtf8(credentials))}` }
  } catch {
    // Without the cause: it quotes the password.
    throw refuse(`The name or password for ${url.host} is not percent-encoded UTF-8`)
  }
}

function anchorsOf(name: string, anchors: readonly Uint8Array[]): readonly Uint8Array[] {
  if (anchors.length === 0) throw refuse(`${name} needs a trust anchor: the CA certificate that its tokens lead to`)
  try {
    return anchors.map((anchor) => parseCertificate(anchor).der)
  } catch (cause) {
    throw refuse(`A trust anchor of ${name} cannot be used: ${(cause as Error).message}`, cause)
  }
}

function policyOf(name: string, policy: string | undefined): string | undefined {
  if (policy === undefined || /^[0-2](\.(0|[1-9]\d{0,9})){1,31}$/.test(policy)) return policy
  throw refuse(`The policy of ${name} is a dotted object identifier, not ${policy.slice(0, 60)}`)
}

const withoutDoubles = (pieces: readonly ValidationData[]): readonly ValidationData[] =>
  pieces.filter((piece, i) => pieces.findIndex(({ der }) => equalBytes(der, piece.der)) === i)
