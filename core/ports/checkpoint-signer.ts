/**
 * The private keys that sign checkpoints: a keyring file (`openCheckpointKeys` of `evidence-registry/adapters/files`),
 * or a key management service. They are independent of the root secret.
 *
 * A public key is passed as the bytes that a C2SP verifier key holds in base64: the type byte, which names the
 * algorithm, then the key. The only type at present is 1, Ed25519, so a public key has 33 bytes.
 */
export interface CheckpointSigner {
  /**
   * The public keys of all private keys that it can use now, in the order in which they are put into the log, also
   * those that were added meanwhile. It is called often, with shared records every few seconds: keep them for a short
   * time if reading them is a request.
   */
  publicKeys(): Promise<readonly Uint8Array[]>
  /**
   * Signs bytes with the private key of this public key.
   *
   * @returns the signature, for Ed25519 64 bytes
   * @throws RegistryError `LOG_KEY_MISMATCH` if it does not have that key, `UNAVAILABLE` if it cannot be reached
   */
  sign(publicKey: Uint8Array, bytes: Uint8Array): Promise<Uint8Array>
}
