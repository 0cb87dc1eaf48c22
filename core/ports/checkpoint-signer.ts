/**
 * The private keys that sign checkpoints: a keyring file (`openCheckpointKeys` of `evidence-registry/adapters/files`),
 * or a key management service. They are independent of the root secret.
 *
 * A public key is passed as the bytes that a C2SP verifier key holds in base64: the type byte, which names the
 * algorithm, then the key. The only type at present is 1, Ed25519, so a public key has 33 bytes.
 */
export interface CheckpointSigner {
  /**
   * The public keys of all private keys that it can use now, in the order in which they are put into the log. It is
   * called again before each rotation, so it must return keys that were added meanwhile.
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
