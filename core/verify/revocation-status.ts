// These types have a file of their own, so that the declarations of the `./verify` entry need no types of the ASN.1
// libraries.

/** A larger CRL, OCSP response or certificate is ignored, because parsing blocks the thread. In bytes. */
export const MAX_VALIDATION_DATA_BYTES = 131_072

/** What CRLs and OCSP responses say about a certificate. */
export type RevocationStatus =
  /** No trustworthy CRL or OCSP response covers the certificate. */
  | { readonly state: 'unknown' }
  /** Not revoked. `asOf`: the time of the statement (thisUpdate), ms since 1970. */
  | { readonly state: 'good'; readonly by: 'crl' | 'ocsp'; readonly asOf: number }
  | {
      readonly state: 'revoked'
      readonly by: 'crl' | 'ocsp'
      /** The time of the statement (thisUpdate), ms since 1970. */
      readonly asOf: number
      /** ms since 1970: the revocation, or the date on which the certificate became invalid if that is earlier. */
      readonly revokedAt: number
      /** CRLReason (RFC 5280 § 5.3.1), if it is given. */
      readonly reason?: number
    }

/** The revocation status of a certificate on a token's path. */
export type CertificateStatus = RevocationStatus & { readonly subject: string }

/** unspecified, affiliationChanged, superseded, cessationOfOperation: the key was not compromised. */
const HARMLESS_REASONS: readonly number[] = [0, 3, 4, 5]

/**
 * Whether a revocation makes a token invalid (RFC 3161 § 4). A token from before the revocation stays valid only if a
 * reason is given and the reason rules out that the key was compromised.
 *
 * @param status The status of a certificate on the token's path.
 * @param genTime The token's time, ms since 1970.
 */
export function voidsTimestamp(status: RevocationStatus, genTime: number): boolean {
  return status.state === 'revoked' && !(isHarmless(status) && genTime < status.revokedAt)
}

/** Whether a reason is given and rules out that the key was compromised. */
export const isHarmless = ({ reason }: { readonly reason?: number }): boolean =>
  reason !== undefined && HARMLESS_REASONS.includes(reason)
