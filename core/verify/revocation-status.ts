/** A larger piece is not looked at: reading one blocks, and it is kept with the tokens. */
export const MAX_VALIDATION_DATA_BYTES = 131_072

export type RevocationStatus =
  /** Nothing that can be relied on says anything. */
  | { readonly state: 'unknown' }
  /** `asOf`: ms since 1970, the time for which its issuer said so. */
  | { readonly state: 'good'; readonly by: 'crl' | 'ocsp'; readonly asOf: number }
  | {
      readonly state: 'revoked'
      readonly by: 'crl' | 'ocsp'
      readonly asOf: number
      /** ms since 1970. */
      readonly revokedAt: number
      /** CRLReason (RFC 5280 § 5.3.1), where it is told. */
      readonly reason?: number
    }

/**
 * Whether a token that was signed at `genTime` is void by this (RFC 3161 § 4): tokens from before the revocation stay good only where the
 * reason is told and is none of compromise (unspecified, affiliationChanged, superseded, cessationOfOperation).
 */
export const isVoidBy = (status: RevocationStatus, genTime: number): boolean =>
  status.state === 'revoked' && !([0, 3, 4, 5].includes(status.reason ?? -1) && genTime < status.revokedAt)
