import type { ValidationData } from '../ports/index.ts'
import type { SignatureBudget } from './untrusted.ts'

/**
 * Checks timestamp tokens. It is a value that the caller passes, because its ASN.1 libraries are larger than the rest
 * of the verifier: a page loads `evidence-registry/verify/tokens` only if a bundle has tokens. The types here name
 * nothing of these libraries, so that `evidence-registry/verify` needs none of them.
 */
export interface TokenVerifier {
  /** As `verifyTimestamp`. Throws `VERIFICATION_FAILED`. */
  readonly verifyToken: (der: Uint8Array, options: VerifyTokenOptions) => VerifiedToken
  /** The certificates in a token, DER. Throws `VERIFICATION_FAILED`. */
  readonly certificatesIn: (der: Uint8Array, budget?: SignatureBudget) => readonly Uint8Array[]
}

/** Part of every subject of the embedded authority, so that no certificate looks like one of an independent one. */
export const LOCAL_TEST_NOTICE = 'LOCAL TEST - NOT A TRUSTED AUTHORITY'

const TOKENS = /"tokens"\s*:\s*\[\s*"/
/** A letter of that name as an escape, which no JSON writer makes. */
const ESCAPED_LETTER = /\\u00(?:6[5bef]|7[34])/i

/**
 * Whether a bundle holds timestamp tokens, so that checking them needs `tokens`. Reads the text
 * without parsing it. A wrong result does no harm: tokens that are not checked are in `unchecked`, and prove nothing.
 */
export const holdsTokens = (text: string): boolean => TOKENS.test(text) || ESCAPED_LETTER.test(text)

/** What a token is verified against. Exactly one of `data` and `digest` is required. */
export type VerifyTimestampOptions = {
  /** DER certificates that are trusted to issue (or to be) the signer's certificate. At least one. */
  readonly trustAnchors: readonly Uint8Array[]
  /** The nonce of the request, a positive big-endian integer: the token must hold the same. Default: not checked. */
  readonly nonce?: Uint8Array
  /** Dotted OID that the token must have. Default: any policy. */
  readonly policy?: string
  /**
   * The verifier's current time, ms since 1970: rejects a genTime more than `MAX_CLOCK_SKEW_MS` later. Default: not
   * checked.
   */
  readonly at?: number
  /**
   * CRLs, OCSP responses and additional certificates that were stored with the token. They are not trusted by
   * themselves. Default: none, and revocation is not checked.
   */
  readonly validationData?: readonly ValidationData[]
} & (
  | { readonly data: Uint8Array }
  /** The data's digest, with the token's own hash algorithm. */
  | { readonly digest: Uint8Array }
)

/** As `VerifyTimestampOptions`, with what only a bundle knows. */
export type VerifyTokenOptions = VerifyTimestampOptions & {
  readonly validationData: readonly ValidationData[]
  readonly budget: SignatureBudget
  /**
   * ms since 1970: a later stamp proves that the token existed then, so that a later revocation has no effect on it.
   * Default: no such stamp.
   */
  readonly renewedAt?: number
}

/** A verified token with its path. */
export interface VerifiedToken {
  readonly info: TimestampInfo
  /** DER, from the signer's certificate to the trust anchor. */
  readonly certificates: readonly Uint8Array[]
  readonly revocation: readonly CertificateStatus[]
  /** SHA-256 of the public key of the signer (SubjectPublicKeyInfo), hex. */
  readonly signerKey: string
}

/** A hash algorithm that is accepted in tokens. */
export type HashName = 'sha256' | 'sha384' | 'sha512'

/** What a timestamp token states (TSTInfo, RFC 3161 § 2.4.2). */
export interface TimestampInfo {
  /** The stamped time, ms since 1970, truncated to whole milliseconds. */
  readonly genTime: number
  /** Hex of the integer without leading zero bytes, of a negative one after `-`. */
  readonly serialNumber: string
  /** Dotted OID of the authority's policy. */
  readonly policy: string
  /** The algorithm of `imprint`. */
  readonly hashAlgorithm: HashName
  /** The hash of the stamped data. */
  readonly imprint: Uint8Array
  /** The nonce of the request, as in DER: two's complement, big-endian, as short as possible. */
  readonly nonce?: Uint8Array
  /** The true time lies within `genTime` ± this many ms. */
  readonly accuracyMs?: number
  /** The latest true time, ms since 1970: genTime with its fraction + accuracy, rounded up. */
  readonly notLaterThan: number
}

/** What CRLs and OCSP responses say about a certificate. */
export type RevocationStatus =
  /** No trustworthy CRL or OCSP response covers the certificate. `why`: why one that may be about it cannot be used. */
  | { readonly state: 'unknown'; readonly why?: string }
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

/** The largest TimeStampResp that is parsed, in bytes. Real ones have 1 to 10 KB; some carry revocation lists. */
export const MAX_TIMESTAMP_BYTES = 262_144

/** A larger OCSP response or certificate is ignored, because parsing blocks the thread. In bytes. */
export const MAX_VALIDATION_DATA_BYTES = 131_072
/** A larger CRL is ignored. Its entries are read in passing. */
export const MAX_CRL_BYTES = 8_388_608

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
