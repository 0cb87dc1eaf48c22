import { hkdfSync } from 'node:crypto'
import { RegistryError } from './errors.ts'

/** What a secret is derived for. */
export type SecretPurpose = 'api-key' | 'file-token' | 'idempotency' | 'secret-id'

/** The smallest length of the root secret. */
export const MIN_SECRET_BYTES = 32

/**
 * Derives a secret of 32 bytes from the root secret: HKDF-SHA-256 (RFC 5869) without salt, with the purpose as info.
 * Throws `CONFIG_ERROR` if the root secret is shorter than 32 bytes.
 */
export function deriveSecret(root: Uint8Array, purpose: SecretPurpose): Uint8Array {
  if (root.length < MIN_SECRET_BYTES)
    throw new RegistryError(
      'CONFIG_ERROR',
      `The root secret must have at least ${MIN_SECRET_BYTES} bytes, got ${root.length}`,
    )
  return new Uint8Array(hkdfSync('sha256', root, new Uint8Array(), `evidence-registry/1/${purpose}`, 32))
}
