/**
 * Public keys of certificates, and the signatures that they verify. Package `imports` resolve `#certificate-crypto` to
 * `node.ts` in Node, and to `web.ts` elsewhere. Both have the same exports.
 */

/** A public key from a certificate. */
export interface PublicKey {
  /** As node:crypto names them: `rsa`, `rsa-pss`, `ec` or another type. */
  readonly type: string
  /** Length of the modulus, only of RSA. */
  readonly bits?: number
  /** Length of the public exponent in bits, only of RSA. */
  readonly exponentBits?: number
  /** As OpenSSL names it, only of `ec`. */
  readonly curve?: string
  /** Whether it made a signature. Requires a type of the scheme. False if the bytes are malformed. */
  verify(scheme: SignatureScheme, bytes: Uint8Array, signature: Uint8Array): boolean
}

/** How something is signed. ECDSA signatures are DER (RFC 3279 § 2.2.3). */
export interface SignatureScheme {
  /** The types of keys that can make such signatures. */
  readonly keyTypes: readonly ('rsa' | 'rsa-pss' | 'ec')[]
  readonly hash: 'sha256' | 'sha384' | 'sha512'
  /** Only of RSA-PSS: bytes of the salt. MGF1 has the same hash. */
  readonly saltLength?: number
}
