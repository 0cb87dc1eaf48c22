import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import {
  isRegistryError,
  RegistryError,
  sha256,
  systemClock,
  type Clock,
  type TimestampAuthority,
  type TimestampAuthorityInfo,
  type ValidationData,
} from '../kit/index.ts'
import { verifyTimestamp } from '../../core/verify/timestamp.ts'
import { nodeFiles, type FileOperations } from '../files/durable.ts'
import { causeAndRemedy } from '../files/errors.ts'
import { needsRenewal, openAuthority, openSigner, type Authority, type CurrentSigner } from './identity.ts'
import { readLastStamped, writeLastStamp, type LastStamp } from './last-stamp.ts'
import { LOCAL_POLICY, timeStampResponse } from './response.ts'

/** Settings of a local timestamp authority. */
export interface LocalTsaOptions {
  /** Its `now()` is the genTime of tokens. Default: the system's clock. */
  readonly clock?: Clock
  /** File operations, which tests replace to inject faults. Default: those of Node. */
  readonly files?: FileOperations
  /**
   * Whether each stamp is kept on the disk before its token is returned. Default: true. Without it, stamping waits for
   * nothing, as tests with a manual clock need.
   */
  readonly keepsLastStamp?: boolean
}

/**
 * Opens the timestamp authority in a directory, and creates its CA (`ca.pem`) and its keys at the first start. It
 * stamps with the operator's own clock and keys, so it proves nothing against the operator.
 *
 * @param directory must belong to one process; it is created (0700) if it is missing
 * @param options the clock
 * @returns the authority; close it at the end
 * @throws `CONFIG_ERROR` if the directory cannot be used or a key is missing
 * @throws `CORRUPT` if its files are damaged or do not belong together
 * @example
 * const timestampAuthority = await openLocalTsa('data/tsa')
 */
export async function openLocalTsa(
  directory: string,
  { clock = systemClock, files = nodeFiles, keepsLastStamp = true }: LocalTsaOptions = {},
): Promise<LocalTsa> {
  const root = resolve(directory)
  try {
    const authority = await openAuthority(files, root, clock.now())
    const signer = await openSigner(files, root, { authority, now: clock.now() })
    const lastStamped = await readLastStamped(root, new Uint8Array(authority.certificate.raw), files)
    return new LocalTsa({ files, directory: root, clock, authority, signer, lastStamped, keepsLastStamp })
  } catch (error) {
    if (isRegistryError(error)) throw error
    throw new RegistryError(
      'CONFIG_ERROR',
      `The timestamp directory ${root} cannot be used: ${causeAndRemedy(error)}`,
      {
        cause: error,
      },
    )
  }
}

interface OpenedFiles {
  readonly files: FileOperations
  readonly directory: string
  readonly clock: Clock
  readonly authority: Authority
  readonly signer: CurrentSigner
  readonly lastStamped: Uint8Array | undefined
  readonly keepsLastStamp: boolean
}

/** Makes RFC 3161 tokens with the operator's own P-256 keys and SHA-256. Opened by `openLocalTsa`. */
export class LocalTsa implements TimestampAuthority {
  readonly info: TimestampAuthorityInfo
  /** DER of the CA certificate: the trust anchor of every token. */
  readonly trustAnchor: Uint8Array
  /** What it had stamped last when it was opened. `undefined` if that is not known: see `readLastStamped`. */
  readonly lastStamped: Uint8Array | undefined
  readonly #files: FileOperations
  readonly #directory: string
  readonly #clock: Clock
  readonly #authority: Authority
  #signer: CurrentSigner
  #renewal: Promise<CurrentSigner> | undefined
  readonly #keepsLastStamp: boolean
  #lastWrite: Promise<void> = Promise.resolve()
  #closed = false

  constructor({ files, directory, clock, authority, signer, lastStamped, keepsLastStamp }: OpenedFiles) {
    this.#files = files
    this.#directory = directory
    this.#clock = clock
    this.#authority = authority
    this.#signer = signer
    this.lastStamped = lastStamped
    this.#keepsLastStamp = keepsLastStamp
    this.trustAnchor = new Uint8Array(authority.certificate.raw)
    this.info = { name: 'local', assurance: 'operator', trustAnchors: [this.trustAnchor] }
  }

  /**
   * Returns the whole TimeStampResp (DER) for `bytes`, once it is kept as the last stamp. Throws `AUTHORITY_FAILED` if
   * that cannot be written, if the clock is outside the validity of the certificates, or if a certificate has ended and
   * a new one cannot be written.
   */
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
      // 128 random bits are unique without a counter, which a restored backup would set back.
      serialNumber: randomBytes(16),
      nonce,
    })
    try {
      verifyTimestamp(response, { digest, nonce, policy: LOCAL_POLICY, trustAnchors: [this.trustAnchor] })
    } catch (cause) {
      throw new RegistryError(
        'AUTHORITY_FAILED',
        'The local timestamp authority made a token that does not verify: check the clock and the dates in ca.pem and tsa.pem',
        { cause },
      )
    }
    if (this.#keepsLastStamp) await this.#keep({ stamped: bytes, response })
    return response
  }

  /** Returns nothing: the only other certificate is the trust anchor, and none is ever revoked. */
  async validationDataOf(_response: Uint8Array, signal?: AbortSignal): Promise<readonly ValidationData[]> {
    if (this.#closed) throw new RegistryError('CLOSED', 'The local timestamp authority is closed')
    signal?.throwIfAborted()
    return []
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#renewal?.catch(() => undefined)
    await this.#lastWrite
  }

  /** Writes run one after the other, so that the last call determines the content. */
  async #keep(stamp: LastStamp): Promise<void> {
    const written = this.#lastWrite.then(() => writeLastStamp(this.#files, this.#directory, stamp))
    this.#lastWrite = written.catch(() => undefined)
    await written.catch((cause: unknown) => {
      const message = `The last stamp cannot be written to ${this.#directory}: ${causeAndRemedy(cause)}`
      throw new RegistryError('AUTHORITY_FAILED', message, { cause })
    })
  }

  /** Renews the certificate in its last year. Concurrent stamps share one renewal. */
  async #currentSigner(): Promise<CurrentSigner> {
    if (!needsRenewal(this.#signer, this.#authority, this.#clock.now())) return this.#signer
    this.#renewal ??= openSigner(this.#files, this.#directory, {
      authority: this.#authority,
      now: this.#clock.now(),
    }).finally(() => {
      this.#renewal = undefined
    })
    try {
      this.#signer = await this.#renewal
    } catch (cause) {
      // The old certificate may be valid for a year: stamping continues, and the next stamp tries again.
      if (this.#clock.now() < this.#signer.notAfter) return this.#signer
      throw new RegistryError(
        'AUTHORITY_FAILED',
        `The timestamp certificate has expired and a new one could not be written: ${causeAndRemedy(cause)}`,
        {
          cause,
        },
      )
    }
    return this.#signer
  }
}
