// These types have a file of their own, so that the declarations of the `./verify` entry need no types of the ASN.1
// libraries.

/** A hash algorithm that is accepted in tokens. */
export type HashName = 'sha256' | 'sha384' | 'sha512'

/** The largest TimeStampResp that is parsed, in bytes. Real ones have 1 to 10 KB; some carry revocation lists. */
export const MAX_TIMESTAMP_BYTES = 262_144

/** What a timestamp token states (TSTInfo, RFC 3161 § 2.4.2). */
export interface TimestampInfo {
  /** The stamped time, ms since 1970, truncated to whole milliseconds. */
  readonly genTime: number
  /** Hex of the positive integer, without leading zero bytes. */
  readonly serialNumber: string
  /** Dotted OID of the authority's policy. */
  readonly policy: string
  /** The algorithm of `imprint`. */
  readonly hashAlgorithm: HashName
  /** The hash of the stamped data. */
  readonly imprint: Uint8Array
  /** The nonce of the request: the positive integer, big-endian, without leading zero bytes. */
  readonly nonce?: Uint8Array
  /** The true time lies within `genTime` ± this many ms. */
  readonly accuracyMs?: number
}
