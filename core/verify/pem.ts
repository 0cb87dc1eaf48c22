import { fromBase64 } from '../bytes.ts'
import { RegistryError } from '../errors.ts'

/** The DER certificates of a PEM text, in order. Throws `CONFIG_ERROR` where there is none. */
export function certificatesFromPem(pem: string): readonly Uint8Array[] {
  const found: Uint8Array[] = []
  for (const block of pem.matchAll(/-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]*)-----END CERTIFICATE-----/g)) {
    const der = fromBase64((block[1] ?? '').replace(/\s/g, ''))
    if (!der) throw new RegistryError('CONFIG_ERROR', 'A PEM certificate is not valid base64')
    found.push(der)
  }
  if (found.length === 0)
    throw new RegistryError(
      'CONFIG_ERROR',
      'There is no PEM certificate in this text; it takes BEGIN CERTIFICATE blocks',
    )
  return found
}
