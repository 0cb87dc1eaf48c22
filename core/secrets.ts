import { hkdfSync } from 'node:crypto'
import { RegistryError } from './errors.ts'

/** What is derived from the one root secret. A generation numbers the checkpoint keys, from 0. */
export type SecretPurpose = 'api-key' | 'file-token' | 'idempotency' | `checkpoint-key/${number}`

/** The root secret has at least so many bytes. */
export const MIN_SECRET_BYTES = 32

/** HKDF-SHA-256 (RFC 5869) of the root secret, without salt, the purpose as info: 32 bytes. */
export function deriveSecret(root: Uint8Array, purpose: SecretPurpose): Uint8Array {
  if (root.length < MIN_SECRET_BYTES)
    throw new RegistryError(
      'CONFIG_ERROR',
      `The root secret needs at least ${MIN_SECRET_BYTES} bytes, this one has ${root.length}`,
    )
  return new Uint8Array(hkdfSync('sha256', root, new Uint8Array(), `evidence-registry/1/${purpose}`, 32))
}
