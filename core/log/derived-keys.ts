import { toHex } from '../bytes.ts'
import { RegistryError } from '../errors.ts'
import type { CheckpointSigner, RecordStore } from '../ports/index.ts'
import { deriveSecret } from '../secrets.ts'
import { readIdentity } from './identity-record.ts'
import { formatTypedKey, publicKeyOf } from './note.ts'
import type { LogIdentityRecord } from './records.ts'
import { signerOfSeeds, typedKeyOfSeed } from './seed-signer.ts'

/** What a log takes from its root secret. Its checkpoint keys were derived from it in version 0.1.0. */

/** How many keys are derived from one secret. Deriving one takes about a millisecond. */
const DERIVED_KEYS = 4

const derivedSeeds = (secret: Uint8Array): readonly Uint8Array[] =>
  Array.from({ length: DERIVED_KEYS }, (_, generation) => deriveSecret(secret, `checkpoint-key/${generation}`))

/** The public key, with its type byte, with which a log of version 0.1.0 began. */
const firstDerivedKey = (secret: Uint8Array): Uint8Array => typedKeyOfSeed(deriveSecret(secret, 'checkpoint-key/0'))

/** The keys that are derived from a root secret. Logs of version 0.1.0 began with the first of them. */
export function derivedSigner(secret: Uint8Array): CheckpointSigner {
  let signer: CheckpointSigner | undefined
  // The keys are derived at the first use, because that takes milliseconds.
  const get = (): CheckpointSigner => (signer ??= signerOfSeeds(derivedSeeds(secret)))
  return {
    publicKeys: async () => get().publicKeys(),
    sign: async (publicKey, bytes) => get().sign(publicKey, bytes),
  }
}

/**
 * The seeds of those keys of a stored log that are derived from its secret, oldest first. Empty if there is no log, or
 * if its newest key is independent.
 *
 * @throws RegistryError `LOG_KEY_MISMATCH` if the log has another root secret
 */
export async function derivedKeySeeds(records: RecordStore, secret: Uint8Array): Promise<readonly Uint8Array[]> {
  const stored = await readIdentity(records)
  if (stored === undefined) return []
  assertSecretOf(stored.record, secret)
  const keysOfLog = stored.record.keys.map(({ vkey }) => toHex(publicKeyOf(vkey)))
  const seeds = derivedSeeds(secret).map((seed) => ({ seed, publicKey: toHex(typedKeyOfSeed(seed)) }))
  const isNewestDerived = seeds.some(({ publicKey }) => publicKey === keysOfLog.at(-1))
  return isNewestDerived ? seeds.filter(({ publicKey }) => keysOfLog.includes(publicKey)).map(({ seed }) => seed) : []
}

/** Identifies a root secret without revealing it. */
export const secretIdOf = (secret: Uint8Array): string => toHex(deriveSecret(secret, 'secret-id')).slice(0, 32)

/** Whether a log was created with this root secret. Version 0.1.0 wrote no secret id, but derived the first key. */
export function isSecretOf({ origin, keys, secretId }: LogIdentityRecord, secret: Uint8Array): boolean {
  if (secretId !== undefined) return secretId === secretIdOf(secret)
  return keys[0]?.vkey === formatTypedKey(origin, firstDerivedKey(secret))
}

/** Throws `LOG_KEY_MISMATCH` if a log was created with another root secret. */
export function assertSecretOf(record: LogIdentityRecord, secret: Uint8Array): void {
  if (!isSecretOf(record, secret))
    throw new RegistryError(
      'LOG_KEY_MISMATCH',
      `The root secret is not the secret with which the log ${record.origin} was created: start with that secret, or ` +
        'create a new log in an empty store',
    )
}
