export interface TimestampAuthorityInfo {
  /** Stored with each token and with the rules of stamping, and shown in proofs: it must stay as it is. */
  readonly name: string
  /** Its name in errors, log lines and metrics, if `name` says more than these may show. Default: `name`. */
  readonly label?: string
  readonly assurance: Assurance
  /**
   * DER certificates that its tokens lead to. Two authorities count as distinct if these are, whatever their names are.
   */
  readonly trustAnchors: readonly Uint8Array[]
}

/** Data that a later check of a token needs and that will not be available online then. */
export interface ValidationData {
  readonly type: 'certificate' | 'crl' | 'ocsp'
  /** DER of a Certificate (RFC 5280), a CertificateList (RFC 5280) or an OCSPResponse (RFC 6960). */
  readonly der: Uint8Array
}

/**
 * A time stamp authority (RFC 3161).
 *
 * @throws `AUTHORITY_FAILED` for a failure after which the call can be repeated
 */
export interface TimestampAuthority {
  readonly info: TimestampAuthorityInfo
  /**
   * Stamps the SHA-256, SHA-384 or SHA-512 of `bytes`.
   *
   * @returns the whole DER TimeStampResp. The adapter has checked its imprint, nonce, signature and chain.
   */
  stamp(bytes: Uint8Array, signal?: AbortSignal): Promise<Uint8Array>
  /**
   * Collects what should be stored with a response of `stamp`. Takes a bounded time and leaves out what it cannot get.
   *
   * @throws `AUTHORITY_FAILED` if that data shows that a revoked certificate signed the response
   */
  validationDataOf(response: Uint8Array, signal?: AbortSignal): Promise<readonly ValidationData[]>
  close(): Promise<void>
}

/**
 * Who vouches for a time or an anchor. `operator`: the embedded ledger and authority, which are the operator's own.
 * `independent`: chains and authorities that do not depend on the operator.
 */
export type Assurance = 'operator' | 'independent'
