import { concatBytes, equalBytes, toBase64 } from '../bytes.ts'
import { RegistryError } from '../errors.ts'
import type { CheckpointSigner } from '../ports/index.ts'
import { createNoteSigner, publicKeyOfSeed } from './note.ts'
import { ED25519 } from './verifier-key.ts'

/** The public key of an Ed25519 seed (32 bytes) with its type byte: 33 bytes. */
export const typedKeyOfSeed = (seed: Uint8Array): Uint8Array =>
  concatBytes(Uint8Array.of(ED25519), publicKeyOfSeed(seed))

/** A signer over Ed25519 seeds (32 bytes each), in their order. */
export function signerOfSeeds(seeds: readonly Uint8Array[]): CheckpointSigner {
  const signers = seeds.map((seed) => createNoteSigner('-', seed))
  const publicKeys = signers.map(({ publicKey }) => concatBytes(Uint8Array.of(ED25519), publicKey))
  return {
    publicKeys: async () => publicKeys,
    sign: async (publicKey, bytes) => {
      const index = publicKeys.findIndex((each) => equalBytes(each, publicKey))
      const signer = signers[index]
      if (signer === undefined) throw missingKey(publicKey)
      return signer.sign(bytes)
    },
  }
}

/** `LOG_KEY_MISMATCH`: a signer does not have this key. */
export const missingKey = (publicKey: Uint8Array): RegistryError =>
  new RegistryError(
    'LOG_KEY_MISMATCH',
    `The private key of the checkpoint key ${toBase64(publicKey)} is missing: restore the keyring, or copy it from ` +
      'another server of the same log',
  )
