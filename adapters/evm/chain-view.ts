import { RegistryError } from '../kit/index.ts'
import type { FeeMarket } from './fees.ts'
import { hexOf } from '../../core/verify/chain/rlp.ts'
import type { RpcSession } from './rpc.ts'
import { asQuantity, hash, isObject, object, quantity, safeQuantity, type JsonObject } from './values.ts'

/** If a chain calls no block finalized, this many confirmations count as settled. */
export const SETTLED_CONFIRMATIONS = 128

interface BlockHead {
  readonly number: number
  readonly hash: string
  /** ms since 1970. */
  readonly time: number
}

export interface Receipt {
  readonly blockNumber: number
  readonly blockHash: string
  /** The transaction's index in the block. */
  readonly index: number
  /** The block's time, ms since 1970, if the node shows it here. */
  readonly blockTime: number | undefined
}

/**
 * One node's view of the chain and of one account at one moment. Results are cached, so that values that are compared
 * come from the same moment. Every method throws `ANCHOR_FAILED`.
 */
export class ChainView {
  readonly session: RpcSession
  /** The newest block. */
  readonly head: BlockHead
  readonly #baseFee: bigint | undefined
  readonly #address: string
  readonly #results = new Map<string, Promise<unknown>>()
  #tip: Promise<bigint> | undefined
  #isPruned = false

  constructor(session: RpcSession, address: string) {
    const { baseFeePerGas } = session.latest
    this.session = session
    this.#address = address
    this.head = headOf(session.latest)
    this.#baseFee = baseFeePerGas === undefined ? undefined : quantity(baseFeePerGas, "newest block's baseFeePerGas")
  }

  /** Whether something was asked for that every node has deleted. */
  get isPruned(): boolean {
    return this.#isPruned
  }

  async market(): Promise<FeeMarket> {
    if (this.#baseFee === undefined)
      throw new RegistryError('ANCHOR_FAILED', 'The chain has no base fee: it does not support EIP-1559')
    return { baseFee: this.#baseFee, priorityFee: await (this.#tip ??= suggestedTip(this.session, this.#baseFee)) }
  }

  /** Number of the account's transactions in blocks. */
  minedNonce(): Promise<number> {
    return this.#nonce('latest')
  }

  /** The same, plus the pending ones up to the first missing nonce. */
  nextNonce(): Promise<number> {
    return this.#nonce('pending')
  }

  /** Number of the account's transactions in the blocks up to this one. */
  nonceAt(blockNumber: number): Promise<number> {
    return this.#nonce(tagOf(blockNumber))
  }

  /** The account's balance in wei. */
  async balance(): Promise<bigint> {
    return quantity(await this.#once('eth_getBalance', [this.#address, 'latest']), 'eth_getBalance')
  }

  async estimateGas(input: Uint8Array): Promise<bigint> {
    const call = { from: this.#address, to: this.#address, value: '0x0', data: hexOf(input) }
    return quantity(await this.session.request('eth_estimateGas', [call]), 'eth_estimateGas')
  }

  async receipt(transaction: string): Promise<Receipt | undefined> {
    const result = await this.#history('eth_getTransactionReceipt', [transaction])
    if (result === null || result === undefined) return undefined
    const receipt = object(result, 'receipt')
    if (receipt.blockNumber === null || receipt.blockNumber === undefined) return undefined
    return {
      blockNumber: safeQuantity(receipt.blockNumber, "receipt's blockNumber"),
      blockHash: hash(receipt.blockHash, "receipt's blockHash"),
      index: safeQuantity(receipt.transactionIndex, "receipt's transactionIndex"),
      blockTime:
        asQuantity(receipt.blockTimestamp) === undefined ? undefined : timeOf(receipt.blockTimestamp, "receipt's time"),
    }
  }

  /** Whether it is in the node's pool or in a block. */
  async isKnown(transaction: string): Promise<boolean> {
    return isObject(await this.#history('eth_getTransactionByHash', [transaction]))
  }

  /** `undefined` if the node does not have it. Some nodes keep the headers of blocks that they have deleted. */
  async block(number: number): Promise<BlockHead | undefined> {
    const block = await this.#history('eth_getBlockByNumber', [tagOf(number), false])
    const head = block ?? (await this.session.attempt('eth_getHeaderByNumber', [tagOf(number)]))
    return head === null || head === undefined ? undefined : headOf(object(head, 'block'))
  }

  /** The block with its transactions. `undefined` if the node has deleted them. */
  async body(number: number, blockHash: string): Promise<JsonObject | undefined> {
    const result = await this.#history('eth_getBlockByNumber', [tagOf(number), true])
    if (result === undefined || (result === null && this.isOld(number))) return undefined
    const block = object(result, 'block')
    if (headOf(block).hash !== blockHash)
      throw new RegistryError('ANCHOR_FAILED', 'The chain was reorganized between two requests: they are repeated')
    return block
  }

  /** Whether nodes may have deleted a block: also those that only say that they do not know it. */
  isOld(number: number): boolean {
    return this.head.number - number >= SETTLED_CONFIRMATIONS
  }

  /** Returns `undefined` if the node does not report one. Block 0 of a long chain is none: some report it for ever. */
  async finalized(): Promise<BlockHead | undefined> {
    const read = () => this.session.attempt('eth_getBlockByNumber', ['finalized', false])
    const result = await this.#memo('finalized', read)
    if (result === null || result === undefined) return undefined
    const block = headOf(object(result, 'finalized block'))
    return block.number === 0 && this.head.number >= SETTLED_CONFIRMATIONS ? undefined : block
  }

  async #nonce(tag: string): Promise<number> {
    const count = await this.#once('eth_getTransactionCount', [this.#address, tag])
    return safeQuantity(count, 'eth_getTransactionCount')
  }

  #once(method: string, params: readonly unknown[]): Promise<unknown> {
    return this.#memo(JSON.stringify([method, params]), () => this.session.request(method, params))
  }

  async #history(method: string, params: readonly unknown[]): Promise<unknown> {
    const result = await this.#memo(JSON.stringify([method, params]), () => this.session.history(method, params))
    this.#isPruned ||= result === undefined
    return result
  }

  #memo(key: string, read: () => Promise<unknown>): Promise<unknown> {
    const result = this.#results.get(key) ?? read()
    this.#results.set(key, result)
    return result
  }
}

const HISTORY_BLOCKS = '0xa'
const MEDIAN_PERCENTILE = 50

/**
 * The tip that the node suggests. A node that suggests none gives the median of what the newest blocks with
 * transactions paid, or else its gas price, which contains the base fee.
 */
async function suggestedTip(session: RpcSession, baseFee: bigint): Promise<bigint> {
  const suggested = asQuantity(await session.attempt('eth_maxPriorityFeePerGas', []))
  if (suggested !== undefined) return suggested
  const history = await session.attempt('eth_feeHistory', [HISTORY_BLOCKS, 'latest', [MEDIAN_PERCENTILE]])
  const rewards: readonly unknown[] = isObject(history) && Array.isArray(history.reward) ? history.reward : []
  const paid = rewards.flatMap((block) => (Array.isArray(block) && asQuantity(block[0])) || [])
  const median = paid.sort((a, b) => (a < b ? -1 : 1))[paid.length >> 1]
  if (median !== undefined) return median
  const gasPrice = quantity(await session.request('eth_gasPrice', []), 'eth_gasPrice')
  return gasPrice > baseFee ? gasPrice - baseFee : 0n
}

const tagOf = (blockNumber: number): string => `0x${blockNumber.toString(16)}`

function headOf(block: JsonObject): BlockHead {
  return {
    number: safeQuantity(block.number, "block's number"),
    hash: hash(block.hash, "block's hash"),
    time: timeOf(block.timestamp, "block's timestamp"),
  }
}

const timeOf = (seconds: unknown, name: string): number => safeQuantity(seconds, name) * 1000
