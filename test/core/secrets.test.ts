import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import { toHex } from '../../core/bytes.ts'
import { deriveSecret, MIN_SECRET_BYTES, type SecretPurpose } from '../../core/platform/node.ts'

const root = Uint8Array.from({ length: 40 }, (_, i) => i)
const hmac = (key: Uint8Array, ...parts: readonly (Uint8Array | string)[]): Buffer => {
  const mac = createHmac('sha256', key)
  for (const part of parts) mac.update(part)
  return mac.digest()
}

describe('deriveSecret', () => {
  it('is HKDF-SHA-256 without salt, with the purpose as info', () => {
    // RFC 5869 § 2.2 and § 2.3 for one block of output.
    const reference = (purpose: string): string =>
      hmac(hmac(new Uint8Array(32), root), `evidence-registry/1/${purpose}`, Uint8Array.of(1)).toString('hex')
    const purposes: readonly SecretPurpose[] = ['api-key', 'file-token', 'idempotency', 'secret-id']
    for (const purpose of purposes) assert.equal(toHex(deriveSecret(root, purpose)), reference(purpose))
    assert.equal(new Set(purposes.map((purpose) => toHex(deriveSecret(root, purpose)))).size, purposes.length)
  })

  it('needs a root secret of at least 32 bytes, and does not show it in the error', () => {
    assert.equal(deriveSecret(root.subarray(0, MIN_SECRET_BYTES), 'api-key').length, 32)
    const short = new TextEncoder().encode('a-secret-that-is-too-short')
    assert.throws(
      () => deriveSecret(short, 'api-key'),
      (error: Error & { code?: string }) =>
        error.code === 'CONFIG_ERROR' && !error.message.includes('a-secret') && error.message.includes('32'),
    )
  })
})
