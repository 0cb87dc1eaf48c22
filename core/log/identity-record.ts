import { toHex } from '../bytes.ts'
import { RegistryError } from '../errors.ts'
import type { RecordStore, Version } from '../ports/index.ts'
import { deriveSecret } from '../platform/node.ts'
import { decodeRecord, readAll } from '../store/read.ts'
import { logKeys } from './keys.ts'
import type { LogIdentityRecord } from './records.ts'

/** The stored record of a log's identity, with the version that a commit checks. */
export interface StoredIdentity {
  readonly record: LogIdentityRecord
  readonly version: Version
}

/** Returns `undefined` if there is no log yet. */
export async function readIdentity(records: RecordStore): Promise<StoredIdentity | undefined> {
  const [entry] = await readAll(records, [logKeys.identity()])
  return entry && { record: decodeRecord(entry), version: entry.version }
}

/** The origin of the log in a record store, `undefined` if there is no log yet. */
export const storedOrigin = async (records: RecordStore): Promise<string | undefined> =>
  (await readIdentity(records))?.record.origin

/** Identifies a root secret without revealing it. */
export const secretIdOf = (secret: Uint8Array): string => toHex(deriveSecret(secret, 'secret-id')).slice(0, 32)

/** Throws `LOG_KEY_MISMATCH` if a log was created with another root secret. */
export function assertSecretOf({ origin, secretId }: LogIdentityRecord, secret: Uint8Array): void {
  if (secretId !== secretIdOf(secret))
    throw new RegistryError(
      'LOG_KEY_MISMATCH',
      `The root secret is not the secret with which the log ${origin} was created: start with that secret, ` +
        'or create a ' +
        'new log in an empty store',
    )
}
