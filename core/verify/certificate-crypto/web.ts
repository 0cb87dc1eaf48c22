import { brainpoolP256r1, brainpoolP384r1, brainpoolP512r1 } from '@noble/curves/misc.js'
import { p256, p384, p521 } from '@noble/curves/nist.js'
import { sha1 } from '@noble/hashes/legacy.js'
import { sha256, sha384, sha512 } from '@noble/hashes/sha2.js'
import { BitString, fromBER, ObjectIdentifier, Sequence, type BaseBlock, Integer } from 'asn1js'
import type { PublicKey, SignatureScheme } from './types.ts'
import { pow } from '@noble/curves/abstract/modular.js'
import { bytesToNumberBE, numberToBytesBE } from '@noble/curves/utils.js'
import { RSASSAPSSParams } from 'pkijs'
import { equalBytes } from '../../bytes.ts'
import { HASHES, saltLengthIn } from '../tokens/asn1.ts'

const DIGESTS = { sha1, sha256, sha384, sha512 } as const

/** The digest of bytes. */
export const digest = (algorithm: keyof typeof DIGESTS, bytes: Uint8Array): Uint8Array => DIGESTS[algorithm](bytes)

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
      isRsaSignature(key, scheme, { hashOf: (data) => digest(scheme.hash, data), message, signature }),
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

/** Verifies RSA signatures (RFC 8017) outside Node. All values are public. */

export interface RsaKey {
  readonly modulus: bigint
  readonly exponent: bigint
}

/** Parses an RSAPublicKey (DER, RFC 8017 § A.1.1). Throws if it is malformed. */
function parseRsaKey(der: Uint8Array): RsaKey {
  const { result, offset } = fromBER(der.slice())
  const [modulus, exponent] = result instanceof Sequence ? result.valueBlock.value : []
  if (offset !== der.length || !(modulus instanceof Integer) || !(exponent instanceof Integer))
    throw new Error('Not an RSAPublicKey')
  return { modulus: numberOf(modulus), exponent: numberOf(exponent) }
}

const numberOf = ({ valueBlock }: Integer): bigint => bytesToNumberBE(valueBlock.valueHexView)

/** What a key that is only for RSA-PSS allows (RFC 4055 § 3.3). `undefined`: everything. */
function parsePssLimits(
  parameters: BaseBlock | undefined,
): { readonly hash: string | undefined; readonly saltLength: number } | undefined {
  if (parameters === undefined) return undefined
  const { hashAlgorithm } = new RSASSAPSSParams({ schema: parameters })
  const saltLength = parameters instanceof Sequence ? saltLengthIn(parameters) : -1
  // A limit that cannot be read allows nothing.
  return { hash: saltLength < 0 ? undefined : HASHES.get(hashAlgorithm.algorithmId)?.name, saltLength }
}

interface RsaInput {
  readonly hashOf: (data: Uint8Array) => Uint8Array
  readonly message: Uint8Array
  readonly signature: Uint8Array
}

/** Whether a signature verifies: PKCS #1 v1.5 (RFC 8017 § 8.2.2), or PSS (§ 8.1.2) if the scheme has a salt length. */
function isRsaSignature(
  { modulus, exponent }: RsaKey,
  { hash, saltLength }: SignatureScheme,
  { hashOf, message, signature }: RsaInput,
): boolean {
  const bits = modulus.toString(2).length
  const length = Math.ceil(bits / 8)
  const value = bytesToNumberBE(signature)
  if (signature.length !== length || value >= modulus) return false
  const encoded = numberToBytesBE(pow(value, exponent, modulus), length)
  const hashed = hashOf(message)
  return saltLength === undefined
    ? equalBytes(encoded, pkcs1Encoding(hash, hashed, length))
    : isPssEncoding(encoded, { bits, hashed, saltLength, hashOf })
}

/** The last byte of each hash's OID, 2.16.840.1.101.3.4.2.x. */
const OID_ENDS = { sha256: 1, sha384: 2, sha512: 3 } as const

/** 00 01 FF … FF 00 DigestInfo (RFC 8017 § 9.2). */
function pkcs1Encoding(hash: SignatureScheme['hash'], hashed: Uint8Array, length: number): Uint8Array {
  const oid = [0x06, 9, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, OID_ENDS[hash]]
  const info = [0x30, 17 + hashed.length, 0x30, 13, ...oid, 0x05, 0, 0x04, hashed.length, ...hashed]
  const encoded = new Uint8Array(length).fill(0xff)
  encoded.set([0, 1])
  encoded.set([0, ...info], length - info.length - 1)
  return encoded
}

interface PssRequest {
  /** Of the modulus. */
  readonly bits: number
  readonly hashed: Uint8Array
  readonly saltLength: number
  readonly hashOf: RsaInput['hashOf']
}

/** RFC 8017 § 9.1.2. */
function isPssEncoding(whole: Uint8Array, { bits, hashed, saltLength, hashOf }: PssRequest): boolean {
  const length = Math.ceil((bits - 1) / 8)
  const encoded = whole.subarray(whole.length - length)
  const maskedLength = length - hashed.length - 1
  if (maskedLength < saltLength + 1 || encoded.at(-1) !== 0xbc) return false
  if (whole.length > length && whole[0] !== 0) return false
  const expected = encoded.subarray(maskedLength, -1)
  const usedBits = 0xff >> (8 * length - (bits - 1))
  if (((encoded[0] ?? 0) & ~usedBits) !== 0) return false
  const mask = mgf1(expected, maskedLength, hashOf)
  const block = mask.map((byte, i) => byte ^ (encoded[i] ?? 0))
  block[0] = (block[0] ?? 0) & usedBits
  const zeros = block.subarray(0, maskedLength - saltLength - 1)
  if (zeros.some((byte) => byte !== 0) || block[zeros.length] !== 1) return false
  const salt = block.subarray(zeros.length + 1)
  return equalBytes(hashOf(Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, ...hashed, ...salt)), expected)
}

function mgf1(seed: Uint8Array, length: number, hashOf: RsaInput['hashOf']): Uint8Array {
  const bytes: number[] = []
  for (let counter = 0; bytes.length < length; counter++)
    bytes.push(...hashOf(Uint8Array.of(...seed, 0, 0, 0, counter)))
  return Uint8Array.from(bytes.slice(0, length))
}
