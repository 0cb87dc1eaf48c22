import { brainpoolP256r1, brainpoolP384r1, brainpoolP512r1 } from '@noble/curves/misc.js'
import { p256, p384, p521 } from '@noble/curves/nist.js'
import { sha1 } from '@noble/hashes/legacy.js'
import { sha256, sha384, sha512 } from '@noble/hashes/sha2.js'
import { BitString, fromBER, ObjectIdentifier, Sequence, type BaseBlock } from 'asn1js'
import type { PublicKey, SignatureScheme } from './types.ts'
import { isRsaSignature, parseRsaKey, parsePssLimits } from './rsa.ts'

const HASHES = { sha1, sha256, sha384, sha512 } as const

/** The digest of bytes. */
export const digest = (algorithm: keyof typeof HASHES, bytes: Uint8Array): Uint8Array => HASHES[algorithm](bytes)

const OID_EC = '1.2.840.10045.2.1'
const OID_RSA = '1.2.840.113549.1.1.1'
const OID_RSA_PSS = '1.2.840.113549.1.1.10'

const CURVES: ReadonlyMap<string, { readonly name: string; readonly curve: typeof p256 }> = new Map([
  ['1.2.840.10045.3.1.7', { name: 'prime256v1', curve: p256 }],
  ['1.3.132.0.34', { name: 'secp384r1', curve: p384 }],
  ['1.3.132.0.35', { name: 'secp521r1', curve: p521 }],
  ['1.3.36.3.3.2.8.1.1.7', { name: 'brainpoolP256r1', curve: brainpoolP256r1 }],
  ['1.3.36.3.3.2.8.1.1.11', { name: 'brainpoolP384r1', curve: brainpoolP384r1 }],
  ['1.3.36.3.3.2.8.1.1.13', { name: 'brainpoolP512r1', curve: brainpoolP512r1 }],
])

/** Parses a SubjectPublicKeyInfo (DER, RFC 5280 § 4.1). Throws if it is malformed. */
export function parsePublicKey(spki: Uint8Array): PublicKey {
  const [algorithm, bits] = childrenOf(fromBER(spki.slice()).result)
  const [oid, parameters] = childrenOf(algorithm)
  if (!(bits instanceof BitString) || !(oid instanceof ObjectIdentifier)) throw new Error('Not a SubjectPublicKeyInfo')
  const bytes = bits.valueBlock.valueHexView
  const type = oid.valueBlock.toString()
  if (type === OID_RSA) return rsaKey('rsa', bytes)
  if (type === OID_RSA_PSS) return rsaKey('rsa-pss', bytes, parameters)
  if (type === OID_EC) return ecKey(bytes, parameters)
  return { type, verify: () => false }
}

const childrenOf = (block: BaseBlock | undefined): readonly BaseBlock[] =>
  block instanceof Sequence ? block.valueBlock.value : []

function rsaKey(type: 'rsa' | 'rsa-pss', bytes: Uint8Array, parameters?: BaseBlock): PublicKey {
  const key = parseRsaKey(bytes)
  const limits = parsePssLimits(parameters)
  const isAllowed = ({ hash, saltLength = 0 }: SignatureScheme): boolean =>
    limits === undefined || (hash === limits.hash && saltLength >= limits.saltLength)
  return {
    type,
    bits: key.modulus.toString(2).length,
    exponentBits: key.exponent.toString(2).length,
    verify: (scheme, message, signature) =>
      isAllowed(scheme) &&
      isRsaSignature(key, scheme, { digest: (data) => digest(scheme.hash, data), message, signature }),
  }
}

function ecKey(bytes: Uint8Array, parameters: BaseBlock | undefined): PublicKey {
  const oid = parameters instanceof ObjectIdentifier ? parameters.valueBlock.toString() : ''
  const named = CURVES.get(oid)
  if (named === undefined) return { type: 'ec', curve: oid, verify: () => false }
  const { name, curve } = named
  curve.Point.fromBytes(bytes)
  return {
    type: 'ec',
    curve: name,
    verify({ hash }, message, signature) {
      try {
        return curve.verify(signature, digest(hash, message), bytes, { prehash: false, lowS: false, format: 'der' })
      } catch {
        return false
      }
    },
  }
}
