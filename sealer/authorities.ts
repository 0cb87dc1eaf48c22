import { X509Certificate } from 'node:crypto'
import { sha256, toHex } from '../core/bytes.ts'
import { RegistryError } from '../core/errors.ts'
import type { Sealer, TimestampAuthority } from '../core/ports/index.ts'
import { MAX_CHECKPOINT_TOKENS } from '../core/commitment/bundle-format.ts'
import { withAuthorityErrors } from '../core/store/decorate.ts'
import type { SealerOptions } from './settings.ts'

/** One of the authorities. */
interface AuthorityMember {
  readonly authority: TimestampAuthority
  /** SHA-256 (hex) of the public key of each of its trust anchors. */
  readonly trustAnchors: readonly string[]
}

/** The authorities that stamp, and what their stamps assure. */
export interface AuthorityRules {
  readonly members: readonly AuthorityMember[]
  /** How many of them make a stamp. */
  readonly quorum: number
  readonly assurance: Sealer['assurance']['time']
}

/** Of all authorities together. Verifiers read policies of 1 MiB, in which those of earlier settings stay. */
const MAX_TRUST_ANCHOR_BYTES = 262_144

type AuthorityOptions = Pick<SealerOptions, 'timestampAuthority' | 'timestampAuthorities' | 'quorum'>

/**
 * Checks the authorities of `SealerOptions`. Throws `CONFIG_ERROR` if they are more than a proof can hold tokens of, if
 * their trust anchors are too long for a policy, if two are not distinct, or if they cannot reach the quorum.
 */
export function authorityRules(options: AuthorityOptions): AuthorityRules {
  const { timestampAuthority, timestampAuthorities } = options
  if (timestampAuthority !== undefined && timestampAuthorities !== undefined)
    throw configError('Set timestampAuthority or timestampAuthorities, not both')
  const authorities = timestampAuthorities ?? (timestampAuthority === undefined ? [] : [timestampAuthority])
  if (authorities.length > MAX_CHECKPOINT_TOKENS)
    throw configError(
      `There may be at most ${MAX_CHECKPOINT_TOKENS} timestamp authorities, because a proof holds at most as many ` +
        `tokens of a stamp: expected 0 to ${MAX_CHECKPOINT_TOKENS}, got ${authorities.length}`,
    )
  const size = authorities.flatMap(({ info }) => info.trustAnchors).reduce((sum, { length }) => sum + length, 0)
  if (size > MAX_TRUST_ANCHOR_BYTES)
    throw configError(
      `The trust anchors of all timestamp authorities have ${size} bytes, and may have ${MAX_TRUST_ANCHOR_BYTES}, ` +
        'because each proof shows them: name only the CA certificates to which the tokens lead, not those of a system',
    )
  const withCertificates = authorities.map((authority) => ({ authority, certificates: trustAnchorsOf(authority) }))
  for (const [i, a] of withCertificates.entries()) for (const b of withCertificates.slice(i + 1)) assertDistinct(a, b)
  const quorum = options.quorum ?? Math.floor(authorities.length / 2) + 1
  const max = Math.max(1, authorities.length)
  if (!Number.isSafeInteger(quorum) || quorum < 1 || quorum > max)
    throw configError(
      `The quorum of ${authorities.length} timestamp authorities must be an integer from 1 to ${max}, got ${quorum}`,
    )
  const isIndependent = authorities.every(({ info }) => info.assurance === 'independent')
  return {
    members: withCertificates.map(({ authority, certificates }) => ({
      authority: withAuthorityErrors(authority),
      trustAnchors: certificates.map(keyHash),
    })),
    quorum,
    assurance: authorities.length === 0 ? 'none' : isIndependent ? 'independent' : 'operator',
  }
}

/** How errors and log lines name an authority. */
export const labelOf = ({ info }: Pick<TimestampAuthority, 'info'>): string => info.label ?? info.name

interface AuthorityCertificates {
  readonly authority: TimestampAuthority
  readonly certificates: readonly X509Certificate[]
}

const configError = (message: string, cause?: unknown): RegistryError =>
  new RegistryError('CONFIG_ERROR', message, { cause })

function trustAnchorsOf({ info }: TimestampAuthority): readonly X509Certificate[] {
  try {
    return info.trustAnchors.map((der) => new X509Certificate(der))
  } catch (cause) {
    throw configError(`A trust anchor of ${labelOf({ info })} is not a DER certificate`, cause)
  }
}

/** Identifies a CA by its key: a renewed or cross-signed certificate belongs to the same CA. */
const keyHash = ({ publicKey }: X509Certificate): string =>
  toHex(sha256(publicKey.export({ type: 'spki', format: 'der' })))

/**
 * Throws if one CA could forge tokens of both: they share a trust anchor, or an anchor of one was issued by an anchor
 * of the other.
 */
function assertDistinct(a: AuthorityCertificates, b: AuthorityCertificates): void {
  const [first, second] = [labelOf(a.authority), labelOf(b.authority)]
  if (a.authority.info.name === b.authority.info.name)
    throw configError(`The timestamp authorities ${first} and ${second} have the same name: give each its own`)
  if (a.certificates.length === 0 || b.certificates.length === 0)
    throw configError(
      `${a.certificates.length === 0 ? first : second} has no trust anchor: each of several authorities needs one`,
    )
  for (const ca of a.certificates)
    for (const other of b.certificates)
      if (keyHash(ca) === keyHash(other) || isIssuedBy(ca, other) || isIssuedBy(other, ca))
        throw configError(
          `The timestamp authorities ${first} and ${second} share a trust anchor, so they count as one: ` +
            'remove one, or give each its own CA',
        )
}

const isIssuedBy = (subject: X509Certificate, issuer: X509Certificate): boolean =>
  subject.checkIssued(issuer) && subject.verify(issuer.publicKey)
