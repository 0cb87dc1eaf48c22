import { decodeRlp, encodeRlp, keccak256 } from './rlp.ts'
import type { UntrustedObject } from '../untrusted.ts'

/**
 * The fields of a block's header in the order of its RLP. Each fork added some at the end, so a header has those up to
 * its fork. Chains that are not Ethereum's may have other fields; then the header cannot be rebuilt.
 */
const FIELDS = [
  ['parentHash', 'data'],
  ['sha3Uncles', 'data'],
  ['miner', 'data'],
  ['stateRoot', 'data'],
  ['transactionsRoot', 'data'],
  ['receiptsRoot', 'data'],
  ['logsBloom', 'data'],
  ['difficulty', 'quantity'],
  ['number', 'quantity'],
  ['gasLimit', 'quantity'],
  ['gasUsed', 'quantity'],
  ['timestamp', 'quantity'],
  ['extraData', 'data'],
  ['mixHash', 'data'],
  ['nonce', 'data'],
  // London (EIP-1559)
  ['baseFeePerGas', 'quantity'],
  // Shanghai (EIP-4895)
  ['withdrawalsRoot', 'data'],
  // Cancun (EIP-4844, EIP-4788)
  ['blobGasUsed', 'quantity'],
  ['excessBlobGas', 'quantity'],
  ['parentBeaconBlockRoot', 'data'],
  // Prague (EIP-7685)
  ['requestsHash', 'data'],
] as const

/** Positions in `FIELDS`. Written out, so that a bundle of the verifier alone can leave the names of the fields out. */
const TRANSACTIONS_ROOT = 4
const NUMBER = 8
const TIMESTAMP = 11
/** The fields that every EIP-1559 block has. */
const MIN_FIELDS = 16

/** Returns the RLP of a block's header as `0x` hex, or `undefined` if it does not hash to the block's `hash`. */
export function headerOf(block: UntrustedObject): string | undefined {
  const fields: string[] = []
  for (const [name, kind] of FIELDS) {
    const value = block[name]
    if (value === undefined || value === null) break
    if (typeof value !== 'string' || !/^0x[0-9a-f]*$/i.test(value)) return undefined
    fields.push(kind === 'data' ? value.toLowerCase() : minimal(value))
  }
  if (fields.some((field) => field.length % 2 !== 0)) return undefined
  const header = encodeRlp(fields)
  return keccak256(header) === String(block.hash).toLowerCase() ? header : undefined
}

/** RLP has numbers without leading zeros, and zero as an empty string. */
function minimal(quantity: string): string {
  const digits = quantity.toLowerCase().slice(2).replace(/^0+/, '')
  return `0x${digits.length % 2 === 0 ? '' : '0'}${digits}`
}

export interface BlockHeader {
  /** `0x` hex. */
  readonly hash: string
  readonly transactionsRoot: string
  readonly number: number
  /** ms since 1970. */
  readonly time: number
}

/** Decodes a header's RLP, which an attacker may control. Throws a TypeError or RangeError if it is not a header. */
export function parseHeader(encoded: Uint8Array): BlockHeader {
  const fields = decodeRlp(encoded)
  if (typeof fields === 'string' || fields.length < MIN_FIELDS) throw new TypeError('Fields of the header are missing')
  const textAt = (position: number): string => {
    const value = fields[position]
    if (typeof value !== 'string') throw new TypeError(`Field ${position} of the header is not a byte string`)
    return value
  }
  const numberAt = (position: number): number => {
    const value = Number(textAt(position) === '0x' ? 0 : textAt(position))
    if (!Number.isSafeInteger(value * 1000)) throw new TypeError(`Field ${position} of the header is too large`)
    return value
  }
  const transactionsRoot = textAt(TRANSACTIONS_ROOT)
  if (transactionsRoot.length !== 66) throw new TypeError('transactionsRoot is not a hash')
  return {
    hash: keccak256(encoded),
    transactionsRoot,
    number: numberAt(NUMBER),
    time: numberAt(TIMESTAMP) * 1000,
  }
}
