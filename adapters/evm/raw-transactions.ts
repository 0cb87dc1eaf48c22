import { encodeRlp, keccak256, type RlpItem } from '../../core/verify/chain/rlp.ts'
import type { RpcSession } from './endpoints.ts'
import { isObject, type JsonObject } from './quantity.ts'

/**
 * Encodes one field. Throws a TypeError for a malformed value; the transaction is then treated as of an unknown type.
 */
type Field = (transaction: JsonObject) => RlpItem

const bytes = (value: unknown): string => {
  if (typeof value !== 'string' || !/^0x([0-9a-f]{2})*$/i.test(value)) throw new TypeError('not data')
  return value.toLowerCase()
}

/** RLP has numbers without leading zeros, and zero as an empty string. */
const number = (value: unknown): string => {
  if (typeof value !== 'string' || !/^0x[0-9a-f]+$/i.test(value)) throw new TypeError('not a quantity')
  const digits = value.toLowerCase().slice(2).replace(/^0+/, '')
  return `0x${digits.length % 2 === 0 ? '' : '0'}${digits}`
}

const list = (value: unknown, item: (value: unknown) => RlpItem): RlpItem => {
  if (!Array.isArray(value)) throw new TypeError('not a list')
  return value.map(item)
}

const members = (value: unknown): JsonObject => {
  if (!isObject(value)) throw new TypeError('not an object')
  return value
}

const quantity =
  (name: string): Field =>
  (transaction) =>
    number(transaction[name])

/** A transaction that creates a contract has no `to`. */
const to: Field = (transaction) => bytes(transaction.to ?? '0x')
const input: Field = (transaction) => bytes(transaction.input)
const accessList: Field = (transaction) =>
  list(transaction.accessList, (entry) => [bytes(members(entry).address), list(members(entry).storageKeys, bytes)])
const blobHashes: Field = (transaction) => list(transaction.blobVersionedHashes, bytes)
const authorizations: Field = (transaction) =>
  list(transaction.authorizationList, (entry) => {
    const { chainId, address, nonce, yParity, r, s } = members(entry)
    return [number(chainId), bytes(address), number(nonce), number(yParity), number(r), number(s)]
  })
const parity: Field = (transaction) => number(transaction.yParity ?? transaction.v)

const call: readonly Field[] = [quantity('gas'), to, quantity('value'), input]
const fees: readonly Field[] = [quantity('maxPriorityFeePerGas'), quantity('maxFeePerGas')]
const start: readonly Field[] = [quantity('chainId'), quantity('nonce')]
const signature: readonly Field[] = [parity, quantity('r'), quantity('s')]

/** The fields of each type in the order of its RLP: EIP-155, EIP-2930, EIP-1559, EIP-4844, EIP-7702. */
const FIELDS: Readonly<Record<string, readonly Field[]>> = {
  '0x0': [quantity('nonce'), quantity('gasPrice'), ...call, quantity('v'), quantity('r'), quantity('s')],
  '0x1': [...start, quantity('gasPrice'), ...call, accessList, ...signature],
  '0x2': [...start, ...fees, ...call, accessList, ...signature],
  '0x3': [...start, ...fees, ...call, accessList, quantity('maxFeePerBlobGas'), blobHashes, ...signature],
  '0x4': [...start, ...fees, ...call, accessList, authorizations, ...signature],
}

/**
 * Rebuilds the raw bytes (`0x` hex) of a transaction from a block's JSON. Returns `undefined` if they do not hash to
 * its hash: the type is unknown here, or the node leaves fields out.
 */
export function encodeShownTransaction(transaction: JsonObject): string | undefined {
  const type = typeof transaction.type === 'string' ? transaction.type : '0x0'
  try {
    const payload = encodeRlp((FIELDS[type] ?? []).map((field) => field(transaction)))
    const raw = type === '0x0' ? payload : `0x${type.slice(2).padStart(2, '0')}${payload.slice(2)}`
    return keccak256(raw) === transaction.hash ? raw : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns the raw transactions (`0x` hex) of a block that was read with its transactions. Requests the bytes of those
 * of an unknown type from the node; returns `undefined` if the node does not provide them.
 */
export async function rawTransactionsOf(
  block: JsonObject,
  session: RpcSession,
): Promise<readonly string[] | undefined> {
  if (!Array.isArray(block.transactions)) return undefined
  const raws: string[] = []
  for (const transaction of block.transactions as readonly unknown[]) {
    if (!isObject(transaction)) return undefined
    const raw =
      encodeShownTransaction(transaction) ?? (await session.attempt('eth_getRawTransactionByHash', [transaction.hash]))
    if (typeof raw !== 'string' || !/^0x([0-9a-f]{2})+$/.test(raw) || keccak256(raw) !== transaction.hash)
      return undefined
    raws.push(raw)
  }
  return raws
}
