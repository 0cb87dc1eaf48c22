import { fromBase64 } from '../bytes.ts'
import { RegistryError } from '../errors.ts'

const PEM_BLOCK = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]*)-----END CERTIFICATE-----/g

/**
 * Decodes the certificates of a PEM text (RFC 7468), for example as trust anchors of `verifyTimestamp`. Other blocks
 * are ignored.
 *
 * @param pem Text with one or more `BEGIN CERTIFICATE` blocks.
 * @returns The DER bytes of each certificate, in the order of the text.
 * @throws `CONFIG_ERROR` if there is no certificate, or if a block is not base64.
 */
export function certificatesFromPem(pem: string): readonly Uint8Array[] {
  const certificates = Array.from(pem.matchAll(PEM_BLOCK), ([, base64 = '']) => decodeBlock(base64))
  if (certificates.length === 0)
    throw new RegistryError(
      'CONFIG_ERROR',
      'The text holds no PEM certificate: expected at least one BEGIN CERTIFICATE block',
    )
  return certificates
}

function decodeBlock(base64: string): Uint8Array {
  const der = fromBase64(base64.replace(/\s/g, ''))
  if (!der) throw new RegistryError('CONFIG_ERROR', 'A PEM certificate is not valid base64')
  return der
}
