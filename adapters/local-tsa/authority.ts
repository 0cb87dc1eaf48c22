import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { sha256 } from '../../core/bytes.ts'
import { systemClock } from '../../core/clock.ts'
import { isRegistryError, RegistryError } from '../../core/errors.ts'
import type { Clock, TimestampAuthority, TimestampAuthorityInfo, ValidationData } from '../../core/ports.ts'
import { verifyTimestamp } from '../../core/verify/timestamp.ts'
import { errnoOf, nodeFiles, type FileOperations } from '../files/durable.ts'
import { needsRenewal, openAuthority, openSigner, type Authority, type CurrentSigner } from './identity.ts'
import { LOCAL_POLICY, timeStampResponse } from './response.ts'

export interface LocalTsaOptions {
  /** genTime is its `now()`, as it is. Default: the system's. */
  readonly clock?: Clock
  readonly files?: FileOperations
}

/**
 * Opens the timestamp authority of a directory, and makes its CA (`ca.pem`) and its keys at the first start. It stamps with the
 * operator's own clock and keys, so it proves nothing against the operator. The directory belongs to one process.
 * Throws `CONFIG_ERROR` where it cannot be used, `CORRUPT` where its files do not fit together.
 */
export async function openLocalTsa(
  directory: string,
  { clock = systemClock, files = nodeFiles }: LocalTsaOptions = {},
): Promise<LocalTsa> {
  const root = resolve(directory)
  try {
    const authority = await openAuthority(files, root, clock.now())
    const signer = await openSigner(files, root, authority, clock.now())
    return new LocalTsa(files, root, clock, authority, signer)
  } catch (error) {
    if (isRegistryError(error)) throw error
    const reason = errnoOf(error) ?? String(error)
    throw new RegistryError(
      'CONFIG_ERROR',
      `The timestamp directory ${root} cannot be used (${reason}): it must be a writable directory`,
      {
        cause: error,
      },
    )
  }
}

/** RFC 3161 tokens of the operator's own: P-256, SHA-256. Open it with `openLocalTsa`. */
export class LocalTsa implements TimestampAuthority {
  readonly info: TimestampAuthorityInfo
  /** DER of the CA certificate: the trust anchor of every token. */
  readonly trustAnchor: Uint8Array
  readonly #files: FileOperations
  readonly #directory: string
  readonly #clock: Clock
  readonly #authority: Authority
  #signer: CurrentSigner
  #renewal: Promise<CurrentSigner> | undefined
  #closed = false

  constructor(files: FileOperations, directory: string, clock: Clock, authority: Authority, signer: CurrentSigner) {
    this.#files = files
    this.#directory = directory
    this.#clock = clock
    this.#authority = authority
    this.#signer = signer
    this.trustAnchor = new Uint8Array(authority.certificate.raw)
    this.info = { name: 'local', assurance: 'operator', trustAnchors: [this.trustAnchor] }
  }

  async stamp(bytes: Uint8Array, signal?: AbortSignal): Promise<Uint8Array> {
    if (this.#closed) throw new RegistryError('CLOSED', 'The local timestamp authority is closed')
    signal?.throwIfAborted()
    const digest = sha256(bytes)
    const signer = await this.#currentSigner()
    signal?.throwIfAborted()
    const nonce = randomBytes(16)
    const response = timeStampResponse(signer, {
      digest,
      genTime: this.#clock.now(),
      // 128 random bits: unique without a counter that a restored backup would set back.
      serialNumber: randomBytes(16),
      nonce,
    })
    try {
      verifyTimestamp(response, { digest, nonce, policy: LOCAL_POLICY, trustAnchors: [this.trustAnchor] })
    } catch (cause) {
      throw new RegistryError(
        'AUTHORITY_FAILED',
        'The local timestamp authority made a token that does not verify: look at the clock and the dates in ca.pem and tsa.pem',
        { cause },
      )
    }
    return response
  }

  /** Nothing: its only other certificate is the trust anchor, and it revokes none. */
  async validationDataOf(_response: Uint8Array, signal?: AbortSignal): Promise<readonly ValidationData[]> {
    if (this.#closed) throw new RegistryError('CLOSED', 'The local timestamp authority is closed')
    signal?.throwIfAborted()
    return []
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#renewal?.catch(() => undefined)
  }

  /** Renews where the certificate is near its end. Of stamps at one time, one renews and all wait. */
  async #currentSigner(): Promise<CurrentSigner> {
    if (!needsRenewal(this.#signer, this.#authority, this.#clock.now())) return this.#signer
    this.#renewal ??= openSigner(this.#files, this.#directory, this.#authority, this.#clock.now()).finally(() => {
      this.#renewal = undefined
    })
    try {
      this.#signer = await this.#renewal
    } catch (cause) {
      // The old one may have a year left: stamping goes on, and the next stamp tries again.
      if (this.#clock.now() < this.#signer.notAfter) return this.#signer
      throw new RegistryError(
        'AUTHORITY_FAILED',
        'The timestamp certificate has ended and a new one could not be written; check the disk',
        {
          cause,
        },
      )
    }
    return this.#signer
  }
}
