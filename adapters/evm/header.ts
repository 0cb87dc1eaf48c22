import { keccak256 } from 'ethers/crypto'
import { decodeRlp, encodeRlp } from 'ethers/utils'
import { hexOf, type JsonObject } from './quantity.ts'

/**
 * The fields of a block's header in the order of its RLP. Each fork added some at the end, so a header has those up to its fork's; chains
 * of their own kind may have others, and then no header can be made of what the node shows.
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

/** Fields without which there is no EIP-1559 block. */
const LEAST_FIELDS = 16

/** The RLP of a block's header, `0x` hex; `undefined` where it does not hash to the block's `hash`. */
export function headerOf(block: JsonObject): string | undefined {
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

/** RLP takes a number without leading zeros, and zero as no bytes. */
function minimal(quantity: string): string {
  const digits = quantity.toLowerCase().slice(2).replace(/^0+/, '')
  return `0x${digits.length % 2 === 0 ? '' : '0'}${digits}`
}

export interface Header {
  /** `0x` hex. */
  readonly hash: string
  readonly transactionsRoot: string
  readonly number: number
  /** ms since 1970. */
  readonly time: number
}

/** What a header's RLP says. Throws where it is no header; it may come from anybody. */
export function parseHeader(encoded: Uint8Array): Header {
  const fields = decodeRlp(encoded)
  if (!Array.isArray(fields) || fields.length < LEAST_FIELDS) throw new TypeError('It has not the fields of a header')
  const text = (name: (typeof FIELDS)[number][0]): string => {
    const value: unknown = fields[FIELDS.findIndex(([field]) => field === name)]
    if (typeof value !== 'string') throw new TypeError(`Its ${name} is no bytes`)
    return value
  }
  const number = (name: 'number' | 'timestamp'): number => {
    const value = Number(text(name) === '0x' ? 0 : text(name))
    if (!Number.isSafeInteger(value * 1000)) throw new TypeError(`Its ${name} is too large`)
    return value
  }
  const transactionsRoot = text('transactionsRoot')
  if (transactionsRoot.length !== 66) throw new TypeError('Its transactionsRoot is no hash')
  return {
    hash: keccak256(hexOf(encoded)),
    transactionsRoot,
    number: number('number'),
    time: number('timestamp') * 1000,
  }
}
