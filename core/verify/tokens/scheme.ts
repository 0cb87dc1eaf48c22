import { RSASSAPSSParams, type AlgorithmIdentifier } from 'pkijs'
import type { PublicKey, SignatureScheme } from '../certificate-crypto/types.ts'
import type { HashName } from '../token-verifier.ts'

/**
 * The signature algorithms that tokens, certificates, CRLs and OCSP responses may use: RSA PKCS #1 v1.5 (RFC 4055 § 5),
 * RSA-PSS (RFC 4055 § 3) and ECDSA (RFC 5758 § 3.2), each with SHA-256, SHA-384 or SHA-512.
 */

export const OID_RSA = '1.2.840.113549.1.1.1'
const OID_RSA_PSS = '1.2.840.113549.1.1.10'
const OID_MGF1 = '1.2.840.113549.1.1.8'

const rsa = (hash: HashName): SignatureScheme => ({ keyTypes: ['rsa'], hash })
const ecdsa = (hash: HashName): SignatureScheme => ({ keyTypes: ['ec'], hash })

const SCHEMES: ReadonlyMap<string, SignatureScheme> = new Map([
  ['1.2.840.113549.1.1.11', rsa('sha256')],
  ['1.2.840.113549.1.1.12', rsa('sha384')],
  ['1.2.840.113549.1.1.13', rsa('sha512')],
  ['1.2.840.10045.4.3.2', ecdsa('sha256')],
  ['1.2.840.10045.4.3.3', ecdsa('sha384')],
  ['1.2.840.10045.4.3.4', ecdsa('sha512')],
])

/** The accepted hash algorithms, by OID. */
export const HASHES: ReadonlyMap<string, { readonly name: HashName; readonly length: number }> = new Map([
  ['2.16.840.1.101.3.4.2.1', { name: 'sha256', length: 32 }],
  ['2.16.840.1.101.3.4.2.2', { name: 'sha384', length: 48 }],
  ['2.16.840.1.101.3.4.2.3', { name: 'sha512', length: 64 }],
])

/**
 * The scheme of an algorithm identifier, `undefined` if it is not accepted.
 *
 * @param digest The signer's digest algorithm, only in CMS. There, rsaEncryption means PKCS #1 v1.5 with it (RFC 3370 §
 *   3.2).
 */
export function schemeOf(algorithm: AlgorithmIdentifier, digest?: HashName): SignatureScheme | undefined {
  const { algorithmId } = algorithm
  if (algorithmId === OID_RSA) return digest && rsa(digest)
  return algorithmId === OID_RSA_PSS ? pssScheme(algorithm) : SCHEMES.get(algorithmId)
}

/** Both hashes must be the same. Without parameters they would be SHA-1. Throws if the parameters are malformed. */
function pssScheme({ algorithmParams }: AlgorithmIdentifier): SignatureScheme | undefined {
  // pkijs types the parameters as `any`.
  const schema: unknown = algorithmParams
  if (schema === undefined) return undefined
  const { hashAlgorithm, maskGenAlgorithm, saltLength, trailerField } = new RSASSAPSSParams({ schema })
  const hash = HASHES.get(hashAlgorithm.algorithmId)
  // MGF1's parameter is the AlgorithmIdentifier of its hash.
  const mask: unknown = maskGenAlgorithm.algorithmParams?.valueBlock?.value?.[0]?.valueBlock?.toString()
  const isSupported =
    maskGenAlgorithm.algorithmId === OID_MGF1 && mask === hashAlgorithm.algorithmId && trailerField === 1
  return hash && isSupported && saltLength >= 0 && saltLength <= 64
    ? { keyTypes: ['rsa', 'rsa-pss'], hash: hash.name, saltLength }
    : undefined
}

/** Whether a key can make signatures of this scheme. */
export const isKeyFor = ({ type }: PublicKey, { keyTypes }: SignatureScheme): boolean =>
  keyTypes.some((each) => each === type)

/** Whether a signature verifies. False if the key is of another type. */
export const isSignature = (
  scheme: SignatureScheme,
  key: PublicKey,
  bytes: Uint8Array,
  signature: Uint8Array,
): boolean => isKeyFor(key, scheme) && key.verify(scheme, bytes, signature)
