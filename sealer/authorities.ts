import { X509Certificate } from 'node:crypto'
import { sha256, toHex } from '../core/bytes.ts'
import { RegistryError } from '../core/errors.ts'
import type { Sealer, TimestampAuthority } from '../core/ports.ts'

export interface AuthorityMember {
  readonly authority: TimestampAuthority
  /** SHA-256 (hex) of the public key of each of its trust anchors. */
  readonly trustAnchors: readonly string[]
}

/** Who stamps, how many of them make a stamp, and who vouches for the time then. */
export interface AuthorityRules {
  readonly members: readonly AuthorityMember[]
  readonly quorum: number
  readonly assurance: Sealer['assurance']['time']
}

export interface AuthorityOptions {
  readonly timestampAuthority?: TimestampAuthority
  readonly timestampAuthorities?: readonly TimestampAuthority[]
  readonly quorum?: number | undefined
}

/** Throws `CONFIG_ERROR` for authorities that are not distinct, and for a quorum that cannot be reached. */
export function authorityRules(options: AuthorityOptions): AuthorityRules {
  const { timestampAuthority, timestampAuthorities } = options
  if (timestampAuthority !== undefined && timestampAuthorities !== undefined)
    throw configError('Give timestampAuthority or timestampAuthorities, not both')
  const authorities = timestampAuthorities ?? (timestampAuthority === undefined ? [] : [timestampAuthority])
  const anchored = authorities.map((authority) => ({ authority, certificates: anchorsOf(authority) }))
  for (const [i, a] of anchored.entries()) for (const b of anchored.slice(i + 1)) assertDistinct(a, b)
  const quorum = options.quorum ?? Math.floor(authorities.length / 2) + 1
  const most = Math.max(1, authorities.length)
  if (!Number.isSafeInteger(quorum) || quorum < 1 || quorum > most)
    throw configError(
      `The quorum of ${authorities.length} timestamp authorities is a whole number from 1 to ${most}, not ${quorum}`,
    )
  const isIndependent = authorities.every(({ info }) => info.assurance === 'independent')
  return {
    members: anchored.map(({ authority, certificates }) => ({ authority, trustAnchors: certificates.map(keyHash) })),
    quorum,
    assurance: authorities.length === 0 ? 'none' : isIndependent ? 'independent' : 'operator',
  }
}

interface AuthorityCertificates {
  readonly authority: TimestampAuthority
  readonly certificates: readonly X509Certificate[]
}

const configError = (message: string, cause?: unknown): RegistryError =>
  new RegistryError('CONFIG_ERROR', message, { cause })

function anchorsOf({ info }: TimestampAuthority): readonly X509Certificate[] {
  try {
    return info.trustAnchors.map((der) => new X509Certificate(der))
  } catch (cause) {
    throw configError(`A trust anchor of ${info.name} is no DER certificate`, cause)
  }
}

/** By keys, not by certificates: a renewed or cross-signed one is the same authority's. */
const keyHash = ({ publicKey }: X509Certificate): string =>
  toHex(sha256(publicKey.export({ type: 'spki', format: 'der' })))

/** Two that one CA could forge together are one: those with an anchor in common, or one below the other's. */
function assertDistinct(a: AuthorityCertificates, b: AuthorityCertificates): void {
  const [first, second] = [a.authority.info.name, b.authority.info.name]
  if (first === second) throw configError(`Two timestamp authorities are named ${first}: each needs a name of its own`)
  if (a.certificates.length === 0 || b.certificates.length === 0)
    throw configError(
      `${a.certificates.length === 0 ? first : second} has no trust anchor: several authorities are told apart by theirs`,
    )
  for (const one of a.certificates)
    for (const other of b.certificates)
      if (keyHash(one) === keyHash(other) || isIssuedBy(one, other) || isIssuedBy(other, one))
        throw configError(
          `The timestamp authorities ${first} and ${second} share a trust anchor, so they count as one: leave one out, or give each its own CA`,
        )
}

const isIssuedBy = (subject: X509Certificate, issuer: X509Certificate): boolean =>
  subject.checkIssued(issuer) && subject.verify(issuer.publicKey)
