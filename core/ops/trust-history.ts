import { X509Certificate } from 'node:crypto'
import { sha256, toHex } from '../bytes.ts'
import { isSameAccount } from '../log/attestation-rules.ts'
import type { AnchorHeadRecord, AnchorRecord, StampPeriod, StampRecord, StampToken } from '../log/records.ts'
import { storedBase64 } from '../store/read.ts'

/**
 * What verifiers pin is stored, and no entry of the log binds it: who can write to the store could name an authority or
 * account of his own. So it is compared with the stamps and anchors themselves.
 */

/** The stamp that began a period, and the token that completed it. */
export interface FirstStamp {
  readonly stamp: StampRecord
  readonly token: StampToken
}

/**
 * Whether each period begins with a stamp under its rules.
 *
 * @param firsts By the log entry (hex) of the token.
 */
export const isStampHistory = (periods: readonly StampPeriod[], firsts: ReadonlyMap<string, FirstStamp>): boolean =>
  periods.every((period, i) => {
    const first = firsts.get(period.entry)
    return first !== undefined && beganWith(first, period, periods[i - 1])
  })

function beganWith({ stamp, token }: FirstStamp, period: StampPeriod, previous: StampPeriod | undefined): boolean {
  const { from, quorum, authorities } = period
  const expected = previous === undefined ? 1 : Math.max(stamp.size, previous.from + 1)
  if (from !== expected || quorum !== stamp.quorum) return false
  return authorities
    .map(({ name, trustAnchors }) => ({ name, hashes: trustAnchors.map((each) => keyHashOf(each, name)) }))
    .some(({ name, hashes }) => name === token.authority && token.trustAnchors.some((hash) => hashes.includes(hash)))
}

/**
 * The hash of its public key. Throws if the certificate is damaged. That of the embedded authority is always its own
 * issuer, also if one of its two names was changed.
 */
function keyHashOf(base64: string, authority: string): string {
  const der = storedBase64(base64, 'A trust anchor')
  const certificate = new X509Certificate(der)
  const isOwnIssuer = authority === 'local' || certificate.subject === certificate.issuer
  if (certificate.raw.length !== der.length || (isOwnIssuer && !certificate.verify(certificate.publicKey)))
    throw new RangeError(`the certificate of ${certificate.subject} is damaged`)
  return publicKeyHash(certificate)
}

/**
 * SHA-256 of the public key (hex), by which tokens name their trust anchors, so that a renewed certificate of the same
 * key still fits.
 */
export const publicKeyHash = ({ publicKey }: X509Certificate): string =>
  toHex(sha256(publicKey.export({ type: 'spki', format: 'der' })))

/** The accounts of the anchors, as the head has them. */
export class AccountHistory {
  readonly #accounts: NonNullable<AnchorHeadRecord['accounts']>
  /** Sizes at which an account begins and that are still to come. */
  readonly #beginnings: Set<number>
  #isRight: boolean

  constructor(accounts: AnchorHeadRecord['accounts'] = []) {
    this.#accounts = accounts
    // An account of which no anchor was left before the next one began has none.
    const begun = accounts.filter(({ from }, i) => i > 0 && from !== accounts[i + 1]?.from)
    this.#beginnings = new Set(begun.map(({ from }) => from))
    this.#isRight = accounts.every(({ from }, i) => (i === 0 ? from === 1 : from >= (accounts[i - 1]?.from ?? 0)))
  }

  /** Takes the anchors in the order of their sizes. */
  add({ size, info }: AnchorRecord): void {
    const account = this.#accounts.findLast(({ from }) => from <= size)
    this.#isRight &&= account !== undefined && isSameAccount(account.info, info)
    this.#beginnings.delete(size)
  }

  /** Whether every anchor is of the account of its size, and every account begins with an anchor. */
  get isRight(): boolean {
    return this.#isRight && this.#beginnings.size === 0
  }
}
