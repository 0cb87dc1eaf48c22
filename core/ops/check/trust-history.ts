import { X509Certificate } from 'node:crypto'
import { sha256, toHex } from '../../bytes.ts'
import { isSameAccount } from '../../log/attestation-rules.ts'
import type { AnchorHeadRecord, AnchorRecord, StampPeriod, StampRecord, StampToken } from '../../log/records.ts'
import { storedBase64 } from '../../store/codec.ts'

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
  // An RFC 3161 authority has its CA stored with each token, by its hash. The embedded one has not.
  const stored = token.evidence.filter(({ type }) => type === 'certificate').map(({ sha256: hash }) => hash)
  return authorities
    .map(({ name, trustAnchors }) => ({ name, anchors: trustAnchors.map((each) => anchorOf(each, name)) }))
    .some(
      ({ name, anchors }) =>
        name === token.authority &&
        anchors.some(
          ({ keyHash, hash, isOwnIssuer }) =>
            token.trustAnchors.includes(keyHash) && (isOwnIssuer || stored.length === 0 || stored.includes(hash)),
        ),
    )
}

/** A CA certificate of an authority. Throws if it is damaged: one that is its own issuer verifies itself. */
function anchorOf(base64: string, authority: string) {
  const der = storedBase64(base64, 'A trust anchor')
  const certificate = new X509Certificate(der)
  // That of the embedded authority always is, also if one of its two names was changed.
  const isOwnIssuer = authority === 'local' || certificate.subject === certificate.issuer
  if (certificate.raw.length !== der.length || (isOwnIssuer && !certificate.verify(certificate.publicKey)))
    throw new RangeError(`the certificate of ${certificate.subject} is damaged`)
  return { keyHash: publicKeyHash(certificate), hash: toHex(sha256(der)), isOwnIssuer }
}

/**
 * SHA-256 of the public key (hex), by which tokens name their trust anchors, so that a renewed certificate of the same
 * key still fits.
 */
export const publicKeyHash = ({ publicKey }: X509Certificate): string =>
  toHex(sha256(publicKey.export({ type: 'spki', format: 'der' })))

/** The accounts of the anchors, as the head has them. */
export class AccountHistory {
  readonly #accounts: AnchorHeadRecord['accounts']
  /** Sizes at which an account begins and that are still to come. */
  readonly #beginnings: Set<number>
  #isRight: boolean

  constructor(accounts: AnchorHeadRecord['accounts']) {
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
