import { pow } from '@noble/curves/abstract/modular.js'
import { bytesToNumberBE, numberToBytesBE } from '@noble/curves/utils.js'
import { fromBER, Integer, Sequence, type BaseBlock } from 'asn1js'
import { RSASSAPSSParams } from 'pkijs'
import { equalBytes } from '../../bytes.ts'
import { HASHES } from '../tokens/scheme.ts'
import type { SignatureScheme } from './types.ts'

/** Verifies RSA signatures (RFC 8017) outside Node. All values are public. */

export interface RsaKey {
  readonly modulus: bigint
  readonly exponent: bigint
}

/** Parses an RSAPublicKey (DER, RFC 8017 § A.1.1). Throws if it is malformed. */
export function parseRsaKey(der: Uint8Array): RsaKey {
  const { result, offset } = fromBER(der.slice())
  const [modulus, exponent] = result instanceof Sequence ? result.valueBlock.value : []
  if (offset !== der.length || !(modulus instanceof Integer) || !(exponent instanceof Integer))
    throw new Error('Not an RSAPublicKey')
  return { modulus: numberOf(modulus), exponent: numberOf(exponent) }
}

const numberOf = ({ valueBlock }: Integer): bigint => bytesToNumberBE(valueBlock.valueHexView)

/** What a key that is only for RSA-PSS allows (RFC 4055 § 3.3). `undefined`: everything. */
export function parsePssLimits(
  parameters: BaseBlock | undefined,
): { readonly hash: string | undefined; readonly saltLength: number } | undefined {
  if (parameters === undefined) return undefined
  const { hashAlgorithm, saltLength } = new RSASSAPSSParams({ schema: parameters })
  return { hash: HASHES.get(hashAlgorithm.algorithmId)?.name, saltLength }
}

interface RsaInput {
  readonly digest: (data: Uint8Array) => Uint8Array
  readonly message: Uint8Array
  readonly signature: Uint8Array
}

/** Whether a signature verifies: PKCS #1 v1.5 (RFC 8017 § 8.2.2), or PSS (§ 8.1.2) if the scheme has a salt length. */
export function isRsaSignature(
  { modulus, exponent }: RsaKey,
  { hash, saltLength }: SignatureScheme,
  { digest, message, signature }: RsaInput,
): boolean {
  const bits = modulus.toString(2).length
  const length = Math.ceil(bits / 8)
  const value = bytesToNumberBE(signature)
  if (signature.length !== length || value >= modulus) return false
  const encoded = numberToBytesBE(pow(value, exponent, modulus), length)
  const hashed = digest(message)
  return saltLength === undefined
    ? equalBytes(encoded, pkcs1Encoding(hash, hashed, length))
    : isPssEncoding(encoded, { bits, hashed, saltLength, digest })
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
  readonly digest: RsaInput['digest']
}

/** RFC 8017 § 9.1.2. */
function isPssEncoding(whole: Uint8Array, { bits, hashed, saltLength, digest }: PssRequest): boolean {
  const length = Math.ceil((bits - 1) / 8)
  const encoded = whole.subarray(whole.length - length)
  const maskedLength = length - hashed.length - 1
  if (maskedLength < saltLength + 1 || encoded.at(-1) !== 0xbc) return false
  if (whole.length > length && whole[0] !== 0) return false
  const expected = encoded.subarray(maskedLength, -1)
  const usedBits = 0xff >> (8 * length - (bits - 1))
  if (((encoded[0] ?? 0) & ~usedBits) !== 0) return false
  const mask = mgf1(expected, maskedLength, digest)
  const block = mask.map((byte, i) => byte ^ (encoded[i] ?? 0))
  block[0] = (block[0] ?? 0) & usedBits
  const zeros = block.subarray(0, maskedLength - saltLength - 1)
  if (zeros.some((byte) => byte !== 0) || block[zeros.length] !== 1) return false
  const salt = block.subarray(zeros.length + 1)
  return equalBytes(digest(Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, ...hashed, ...salt)), expected)
}

function mgf1(seed: Uint8Array, length: number, digest: RsaInput['digest']): Uint8Array {
  const bytes: number[] = []
  for (let counter = 0; bytes.length < length; counter++)
    bytes.push(...digest(Uint8Array.of(...seed, 0, 0, 0, counter)))
  return Uint8Array.from(bytes.slice(0, length))
}
