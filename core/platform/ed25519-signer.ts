/** An Ed25519 key that can sign (RFC 8032). */
export interface Ed25519Signer {
  /** Raw, 32 bytes. */
  readonly publicKey: Uint8Array
  /** 64 bytes, the same each time. */
  readonly sign: (bytes: Uint8Array) => Uint8Array
}
