import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import {
  RegistryError,
  sha256,
  systemClock,
  type Clock,
  type TimestampAuthority,
  type TimestampAuthorityInfo,
  type ValidationData,
} from '../kit/index.ts'
import { verifyTimestamp } from '../../core/verify/tokens.ts'
import { nodeFiles, type FileOperations } from '../files/durable.ts'
import { rethrowAs, toRegistryError } from '../files/errors.ts'
import { openIdentity, type Identity } from './identity.ts'
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
    const identity = await openIdentity(files, root)
    const lastStamped = await readLastStamped(root, identity.trustAnchor, files)
    const keep = async (stamp: LastStamp): Promise<void> => {
      if (!keepsLastStamp) return
      await writeLastStamp(files, root, stamp).catch(
        rethrowAs('AUTHORITY_FAILED', `The last stamp cannot be written to ${root}`),
      )
    }
    return new LocalTsa({ identity, clock, lastStamped, keep })
  } catch (error) {
    throw toRegistryError(error, `The timestamp directory ${root} cannot be used`, 'CONFIG_ERROR')
  }
}

interface OpenedAuthority {
  readonly identity: Identity
  readonly clock: Clock
  readonly lastStamped: Uint8Array | undefined
  /** Keeps a stamp, durably. Throws `AUTHORITY_FAILED`. */
  readonly keep: (stamp: LastStamp) => Promise<void>
}

/** Makes RFC 3161 tokens with the operator's own P-256 keys and SHA-256. Opened by `openLocalTsa`. */
export class LocalTsa implements TimestampAuthority {
  readonly info: TimestampAuthorityInfo
  /** DER of the CA certificate: the trust anchor of every token. */
  readonly trustAnchor: Uint8Array
  /** What it had stamped last when it was opened. `undefined` if that is not known: see `readLastStamped`. */
  readonly lastStamped: Uint8Array | undefined
  readonly #clock: Clock
  readonly #signer: Identity['signer']
  readonly #keep: (stamp: LastStamp) => Promise<void>
  #lastWrite: Promise<void> = Promise.resolve()
  #closed = false

  constructor({ identity, clock, lastStamped, keep }: OpenedAuthority) {
    this.#clock = clock
    this.#signer = identity.signer
    this.#keep = keep
    this.lastStamped = lastStamped
    this.trustAnchor = identity.trustAnchor
    this.info = { name: 'local', assurance: 'operator', trustAnchors: [this.trustAnchor] }
  }

  /**
   * Returns the whole TimeStampResp (DER) for `bytes`, once it is kept as the last stamp. Throws `AUTHORITY_FAILED` if
   * that cannot be written, or if the clock is outside the validity of the certificates.
   */
  async stamp(bytes: Uint8Array, signal?: AbortSignal): Promise<Uint8Array> {
    this.#assertOpen(signal)
    const digest = sha256(bytes)
    const nonce = randomBytes(16)
    const response = timeStampResponse(this.#signer, {
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
        'The local timestamp authority made a token that does not verify: check the clock and the dates in ' +
          'ca.pem and tsa.pem',
        { cause },
      )
    }
    // One after the other, so that the last call determines what is kept.
    const kept = this.#lastWrite.then(() => this.#keep({ stamped: bytes, response }))
    this.#lastWrite = kept.catch(() => undefined)
    await kept
    return response
  }

  /** Returns nothing: the only other certificate is the trust anchor, and none is ever revoked. */
  async validationDataOf(_response: Uint8Array, signal?: AbortSignal): Promise<readonly ValidationData[]> {
    this.#assertOpen(signal)
    return []
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#lastWrite
  }

  #assertOpen(signal: AbortSignal | undefined): void {
    if (this.#closed) throw new RegistryError('CLOSED', 'The local timestamp authority is closed')
    signal?.throwIfAborted()
  }
}
