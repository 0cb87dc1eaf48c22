import { createHash, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import {
  equalBytes,
  isRegistryError,
  RegistryError,
  systemClock,
  untilAborted,
  type Clock,
  type Logger,
  type TimestampAuthority,
  type TimestampAuthorityInfo,
  type ValidationData,
} from '../kit/index.ts'
import { parseCertificate } from '../../core/verify/tokens/certificate.ts'
import { certificatesFromPem } from '../../core/verify/policy.ts'
import {
  MAX_CLOCK_SKEW_MS,
  MAX_TIMESTAMP_BYTES,
  parseTimestampResponse,
  revocationStatus,
  timestampCertificates,
  verifyTimestamp,
  voidsTimestamp,
} from '../../core/verify/tokens.ts'
import { reasonOf } from '../files/errors.ts'
import { basicAuthorization, Proxies, type ProxySettings } from '../outside.ts'
import { authorityError, exchange } from './exchange.ts'
import { IMPRINT_HASHES, timestampQuery, type ImprintHash } from './queries.ts'
import { RevocationSource, type RevocationReach } from './revocation.ts'

/** Settings of a timestamp authority. */
export interface Rfc3161Options {
  /**
   * http or https. A name and password in it are sent as Basic authentication, over https only, and appear in no
   * message.
   */
  readonly url: string
  /** DER certificates (`readTrustAnchors`) to which the authority's tokens must lead, at least one. */
  readonly trustAnchors: readonly Uint8Array[]
  /** Name in tokens and responses. Default: host and path of the URL. */
  readonly name?: string
  /** Name in errors, log lines and metrics. Default: `name` if it is given, else the host of the URL. */
  readonly label?: string
  /** Dotted OID of the policy to request; tokens of another policy are rejected. Default: the authority chooses. */
  readonly policy?: string
  /** Hash algorithm of the imprint. Default: `sha256`. */
  readonly hash?: ImprintHash
  /** Time limit from the request to the last byte of the response, in ms, from 1 to 600,000. Default: 10,000. */
  readonly timeoutMs?: number
  /** Largest accepted difference between genTime and this machine's clock, in ms, from 0. Default: 300,000. */
  readonly maxSkewMs?: number
  /** From which addresses CRLs and OCSP responses are fetched. Default: `public`. */
  readonly revocation?: RevocationReach
  /** PEM of the CA certificates for an https URL. Default: those of Node. */
  readonly tlsCa?: string
  /** Proxies for requests to the authority, and for CRLs and OCSP responses. Default: none. */
  readonly proxies?: ProxySettings
  /** Default: the system's clock. */
  readonly clock?: Clock
  /** Gets the genTime of each token that verifies, also if it is too far from the clock. Default: none. */
  readonly onTime?: (genTime: number) => void
  /** Receives a warning if revocation data cannot be fetched. Default: none. */
  readonly logger?: Logger
}

/** Revocation data is fetched after each token and must not delay it for long. */
const MAX_REVOCATION_MS = 10_000
/** RFC 3161 § 2.4.1 suggests 64 bits; some authorities reject more. */
const NONCE_BYTES = 8
const MAX_TIMEOUT_MS = 600_000

/**
 * Creates a client for a timestamp authority (RFC 3161 over HTTP). Sends no request yet.
 *
 * @param options URL, trust anchors, policy and limits
 * @returns the client; close it at the end
 * @throws `CONFIG_ERROR` for invalid options
 * @example
 * const trustAnchors = await readTrustAnchors('/etc/evidence/tsa-ca.pem')
 * const timestampAuthority = createRfc3161Authority({ url: 'https://tsa.example/tsr', trustAnchors })
 */
export const createRfc3161Authority = (options: Rfc3161Options): Rfc3161Authority => new Rfc3161Authority(options)

/**
 * A client for RFC 3161 over HTTP (§ 3.4). Returns a token only after it was verified (`verifyTimestamp`): status,
 * imprint, nonce, policy, signature, purpose, and path to a trust anchor at genTime. genTime must also be close to this
 * machine's clock. Made by `createRfc3161Authority`.
 */
export class Rfc3161Authority implements TimestampAuthority {
  readonly info: TimestampAuthorityInfo
  readonly #settings: Settings
  readonly #revocation: RevocationSource
  readonly #closing = new AbortController()

  constructor(options: Rfc3161Options) {
    const settings = settingsOf(options)
    const { name, label, timeoutMs } = settings
    const trustAnchors = parseTrustAnchors(label, options.trustAnchors)
    this.info = { name, label, assurance: 'independent', trustAnchors }
    this.#settings = settings
    const { revocation: reach = 'public', logger } = options
    this.#revocation = new RevocationSource(
      { ...settings, reach, timeoutMs: Math.min(timeoutMs, MAX_REVOCATION_MS), logger },
      this.#closing.signal,
    )
  }

  /** Returns the whole TimeStampResp (DER) for `bytes`. Throws `AUTHORITY_FAILED`; a later call may succeed. */
  async stamp(bytes: Uint8Array, signal?: AbortSignal): Promise<Uint8Array> {
    this.#assertOpen()
    signal?.throwIfAborted()
    const { hash, policy, clock } = this.#settings
    const digest = new Uint8Array(createHash(hash).update(bytes).digest())
    const nonce = new Uint8Array(randomBytes(NONCE_BYTES))
    const sentAt = clock.now()
    const response = await exchange({
      ...this.#settings,
      name: this.#settings.label,
      body: { type: 'application/timestamp-query', bytes: timestampQuery({ hash, digest, nonce, policy }) },
      responseType: 'application/timestamp-reply',
      maxBytes: MAX_TIMESTAMP_BYTES,
      signal: signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]),
    })
    this.#assertToken(response, { digest, nonce, sentAt })
    return response
  }

  /**
   * Returns what a later check of the token needs and may no longer find online: the trust anchor, and OCSP responses
   * or CRLs for its certificates. Throws `AUTHORITY_FAILED` if one of the certificates is revoked.
   */
  async validationDataOf(response: Uint8Array, signal?: AbortSignal): Promise<readonly ValidationData[]> {
    this.#assertOpen()
    signal?.throwIfAborted()
    const { trustAnchors } = this.info
    const { imprint, genTime } = parseTimestampResponse(response)
    const path = timestampCertificates(response, { digest: imprint, trustAnchors })
    const links = linksOf(path)
    // If the caller aborts, the requests go on: their results are cached for the next token.
    const perLink = await untilAborted(
      Promise.all(links.map((link) => this.#revocation.validationDataFor(link, genTime))),
      signal,
    )
    for (const [i, { certificate, issuer }] of links.entries())
      if (voidsTimestamp(revocationStatus(certificate, issuer, perLink[i] ?? [], genTime), genTime))
        throw authorityError(this.#settings.label, 'a certificate of its token is revoked')
    // The token itself contains the other certificates of the path.
    const anchors = path.filter((certificate) => trustAnchors.some((anchor) => equalBytes(anchor, certificate)))
    return [...anchors.map((der) => ({ type: 'certificate', der }) as const), ...withoutDuplicates(perLink.flat())]
  }

  /** Aborts calls that are running. */
  async close(): Promise<void> {
    if (!this.#closing.signal.aborted) this.#closing.abort(closed(this.#settings.label))
  }

  #assertOpen(): void {
    if (this.#closing.signal.aborted) throw closed(this.#settings.label)
  }

  #assertToken(
    response: Uint8Array,
    { digest, nonce, sentAt }: { readonly digest: Uint8Array; readonly nonce: Uint8Array; readonly sentAt: number },
  ): void {
    const { trustAnchors } = this.info
    const { label, policy, clock, maxSkewMs, onTime } = this.#settings
    let genTime: number
    try {
      const expected = { digest, nonce, trustAnchors, ...(policy !== undefined && { policy }) }
      genTime = verifyTimestamp(response, expected).genTime
    } catch (error) {
      if (isRegistryError(error, 'VERIFICATION_FAILED')) throw authorityError(label, error.message, { cause: error })
      throw error
    }
    const now = clock.now()
    onTime?.(genTime)
    if (genTime < sentAt - maxSkewMs || genTime > now + maxSkewMs)
      throw authorityError(
        label,
        `its genTime is ${Math.round((genTime - now) / 1000)} s from this machine's clock: one of the two is wrong`,
      )
  }
}

interface Link {
  readonly certificate: Uint8Array
  readonly issuer: Uint8Array
}

const configError = (message: string, cause?: unknown): RegistryError =>
  new RegistryError('CONFIG_ERROR', message, { cause })

const closed = (label: string): RegistryError =>
  new RegistryError('CLOSED', `The client of the timestamp authority ${label} is closed`)

type Settings = ReturnType<typeof settingsOf>

/** The options with their defaults. Throws `CONFIG_ERROR`. */
function settingsOf(options: Rfc3161Options) {
  const { timeoutMs = 10_000, maxSkewMs = MAX_CLOCK_SKEW_MS, clock = systemClock, tlsCa, onTime } = options
  const { url, authorization } = parseUrl(options.url)
  const { name = `${url.host}${url.pathname.replace(/\/$/, '')}`, label = options.name ?? url.host } = options
  const policy = parsePolicy(label, options.policy)
  const hash = parseHash(label, options.hash)
  if (!Number.isSafeInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MAX_TIMEOUT_MS)
    throw configError(`${label}: timeoutMs must be an integer from 1 to ${MAX_TIMEOUT_MS}, got ${timeoutMs}`)
  if (!Number.isSafeInteger(maxSkewMs) || maxSkewMs < 0)
    throw configError(`${label}: maxSkewMs must be an integer from 0, got ${maxSkewMs}`)
  const headers = authorization === undefined ? {} : { Authorization: authorization }
  return {
    name,
    label,
    url,
    headers,
    policy,
    hash,
    timeoutMs,
    maxSkewMs,
    tlsCa,
    clock,
    onTime,
    proxies: new Proxies(options.proxies),
  }
}

/** Errors quote the host alone: the rest of the URL may be a secret. */
function parseUrl(text: string): { readonly url: URL; readonly authorization: string | undefined } {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw configError('The URL of a timestamp authority must be http or https')
  const authorization = basicAuthorization(url, url.host)
  url.username = url.password = url.hash = ''
  if (authorization !== undefined && url.protocol !== 'https:')
    throw configError(`The password for ${url.host} would be sent unencrypted: use https, or leave it out`)
  return { url, authorization }
}

function parseTrustAnchors(label: string, anchors: readonly Uint8Array[]): readonly Uint8Array[] {
  if (anchors.length === 0)
    throw configError(`${label} needs a trust anchor: the CA certificate to which its tokens lead`)
  try {
    return anchors.map((anchor) => parseCertificate(anchor).der)
  } catch (cause) {
    throw configError(`A trust anchor of ${label} cannot be used: ${messageOf(cause)}`, cause)
  }
}

function parseHash(label: string, hash: ImprintHash = 'sha256'): ImprintHash {
  if (IMPRINT_HASHES.includes(hash)) return hash
  throw configError(`${label}: hash must be one of ${IMPRINT_HASHES.join(', ')}`)
}

function parsePolicy(label: string, policy: string | undefined): string | undefined {
  if (policy === undefined || /^[0-2](\.(0|[1-9]\d{0,9})){1,31}$/.test(policy)) return policy
  throw configError(`The policy of ${label} must be a dotted object identifier, got ${policy.slice(0, 60)}`)
}

/** Each certificate of a path with the one that issued it. */
function linksOf(path: readonly Uint8Array[]): readonly Link[] {
  const links: Link[] = []
  let certificate: Uint8Array | undefined
  for (const issuer of path) {
    if (certificate !== undefined) links.push({ certificate, issuer })
    certificate = issuer
  }
  return links
}

const withoutDuplicates = (items: readonly ValidationData[]): readonly ValidationData[] =>
  items.filter((item, i) => items.findIndex(({ der }) => equalBytes(der, item.der)) === i)

/**
 * Reads the trust anchors of an authority from a file.
 *
 * @param path a PEM file with one or more certificates
 * @returns the DER of each certificate
 * @throws `CONFIG_ERROR`, which names the file, if it cannot be read or contains no certificate
 * @example
 * const trustAnchors = await readTrustAnchors('/etc/evidence/tsa-ca.pem')
 */
export async function readTrustAnchors(path: string): Promise<readonly Uint8Array[]> {
  try {
    return certificatesFromPem(await readFile(path, 'latin1'))
  } catch (cause) {
    throw configError(`The file of trust anchors ${path} cannot be used: ${messageOf(cause)}`, cause)
  }
}

/** The message of a registry error, the errno code of a file system error. */
function messageOf(error: unknown): string {
  return isRegistryError(error) ? error.message : reasonOf(error)
}
