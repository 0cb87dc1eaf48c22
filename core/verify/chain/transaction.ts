import type { ECDSASignature } from '@noble/curves/abstract/weierstrass.js'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { hexToBytes } from '@noble/curves/utils.js'
import { decodeRlp, encodeRlp, keccak256, type RlpItem } from './rlp.ts'

/** The content of a raw transaction of type 2 (EIP-1559). */
export interface ParsedTransaction {
  /** `0x` and the Keccak-256 of the raw bytes. */
  readonly hash: string
  readonly chainId: bigint
  readonly nonce: number
  readonly gasLimit: bigint
  /** wei for each gas. */
  readonly maxFeePerGas: bigint
  /** wei for each gas. */
  readonly maxPriorityFeePerGas: bigint
  /** wei. */
  readonly value: bigint
  /** Lowercase `0x` hex; `null` if the transaction creates a contract. */
  readonly to: string | null
  /** Lowercase `0x` hex. */
  readonly input: string
  /** What the sender signed: `0x` and a Keccak-256. */
  readonly signedHash: string
  readonly signature: ECDSASignature
}

const TYPE = '0x02'
const SIGNED_FIELDS = 9

/**
 * Parses a signed transaction of type 2 in its one canonical encoding; returns `undefined` for any other bytes. Does
 * not check that the signature belongs to a key: see `senderOf`.
 */
export function parseTransaction(raw: Uint8Array): ParsedTransaction | undefined {
  try {
    return raw[0] === 2 ? fieldsOf(raw) : undefined
  } catch {
    return undefined
  }
}

/** Throws inside this file; `parseTransaction` catches it. */
function fieldsOf(raw: Uint8Array): ParsedTransaction | undefined {
  const items = listOf(decodeRlp(raw.subarray(1)))
  const [chainId, nonce, tip, maxFee, gasLimit, to, value, input, accessList, yParity, r, s] = items
  if (items.length !== SIGNED_FIELDS + 3) return undefined
  assertAccessList(accessList)
  // Throws unless r and s are in 1 … n − 1. Of the two valid values for s, Ethereum accepts only the lower (EIP-2).
  const signature = new secp256k1.Signature(numberOf(r), numberOf(s), Number(numberOf(yParity)))
  if (numberOf(yParity) > 1n || signature.hasHighS()) return undefined
  return {
    hash: keccak256(raw),
    chainId: numberOf(chainId),
    nonce: safeNumberOf(nonce),
    maxPriorityFeePerGas: numberOf(tip),
    maxFeePerGas: numberOf(maxFee),
    gasLimit: numberOf(gasLimit),
    to: to === '0x' ? null : bytesOf(to, 20),
    value: numberOf(value),
    input: bytesOf(input),
    signedHash: keccak256(TYPE + encodeRlp(items.slice(0, SIGNED_FIELDS)).slice(2)),
    signature,
  }
}

/** The lowercase address of the account that signed; `undefined` if the signature belongs to no key. */
export function senderOf({ signedHash, signature }: ParsedTransaction): string | undefined {
  try {
    const key = signature.recoverPublicKey(hexToBytes(signedHash.slice(2)))
    return `0x${keccak256(key.toBytes(false).subarray(1)).slice(-40)}`
  } catch {
    return undefined
  }
}

function listOf(item: RlpItem | undefined): readonly RlpItem[] {
  if (typeof item !== 'object') throw new TypeError('A list is missing')
  return item
}

function bytesOf(item: RlpItem | undefined, length?: number): string {
  if (typeof item !== 'string' || (length !== undefined && item.length !== 2 + 2 * length))
    throw new TypeError('Bytes are missing')
  return item
}

/** RLP has numbers without leading zeros, up to 256 bits here. */
function numberOf(item: RlpItem | undefined): bigint {
  const hex = bytesOf(item)
  if (hex.startsWith('0x00') || hex.length > 66) throw new TypeError('A number is not canonical')
  return hex === '0x' ? 0n : BigInt(hex)
}

function safeNumberOf(item: RlpItem | undefined): number {
  const value = Number(numberOf(item))
  if (!Number.isSafeInteger(value)) throw new TypeError('A number is too large')
  return value
}

/** EIP-2930: pairs of an address and its storage keys. */
function assertAccessList(item: RlpItem | undefined): void {
  for (const entry of listOf(item)) {
    const [address, keys, ...rest] = listOf(entry)
    bytesOf(address, 20)
    for (const key of listOf(keys)) bytesOf(key, 32)
    if (rest.length > 0) throw new TypeError('An access list has other members')
  }
}
