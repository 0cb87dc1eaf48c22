import { constants, createHash, createPublicKey, verify } from 'node:crypto'
import type { PublicKey } from './types.ts'

/** Parses a SubjectPublicKeyInfo (DER, RFC 5280 § 4.1). Throws if it is malformed. */
export function parsePublicKey(spki: Uint8Array): PublicKey {
  const key = createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' })
  const { modulusLength, publicExponent, namedCurve } = key.asymmetricKeyDetails ?? {}
  return {
    type: key.asymmetricKeyType ?? 'unknown',
    ...(modulusLength !== undefined && { bits: modulusLength }),
    ...(publicExponent !== undefined && { exponentBits: publicExponent.toString(2).length }),
    ...(namedCurve !== undefined && { curve: namedCurve }),
    verify({ hash, saltLength }, bytes, signature) {
      const padding = saltLength === undefined ? {} : { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength }
      try {
        return verify(hash, bytes, { key, dsaEncoding: 'der', ...padding }, signature)
      } catch {
        // OpenSSL throws if a key that is only for RSA-PSS does not allow the scheme.
        return false
      }
    },
  }
}

/** The digest of bytes. */
export const digest = (algorithm: 'sha1' | 'sha256' | 'sha384' | 'sha512', bytes: Uint8Array): Uint8Array =>
  new Uint8Array(createHash(algorithm).update(bytes).digest())
