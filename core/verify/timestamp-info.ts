/** Apart from what parses it, so that the declarations of the `./verify` entry need no types of the ASN.1 libraries. */

export type HashName = 'sha256' | 'sha384' | 'sha512'

/** The largest response that is looked at. Real ones are 1 to 10 KB; some carry revocation lists. */
export const MAX_TIMESTAMP_BYTES = 262_144

/** What a token claims. */
export interface TimestampInfo {
  /** ms since 1970, cut to whole milliseconds. */
  readonly genTime: number
  /** Hex of the positive integer's bytes, without a leading zero byte. */
  readonly serialNumber: string
  /** Dotted OID. */
  readonly policy: string
  readonly hashAlgorithm: HashName
  /** The hash that was stamped. */
  readonly imprint: Uint8Array
  /** The positive integer's bytes, big-endian, without a leading zero byte. */
  readonly nonce?: Uint8Array
  /** The true time lies within genTime ± so much, ms. */
  readonly accuracyMs?: number
}
