import { RegistryError } from '../../core/errors.ts'
import type { RpcSession } from './endpoints.ts'
import type { FeeMarket } from './fees.ts'
import { hash, hexOf, object, quantity, safeQuantity, type JsonObject } from './quantity.ts'

export interface BlockHead {
  readonly number: number
  readonly hash: string
  /** ms since 1970. */
  readonly time: number
}

export interface Receipt {
  readonly blockNumber: number
  readonly blockHash: string
  /** The transaction's place in the block. */
  readonly index: number
}

/**
 * One node's view of the chain and of one account at one moment. What it has asked for it does not ask for again, so that what is
 * compared belongs together. Everything throws `ANCHOR_FAILED`.
 */
export class ChainView {
  readonly session: RpcSession
  /** The newest block. */
  readonly head: BlockHead
  readonly #baseFee: bigint | undefined
  readonly #address: string
  readonly #answers = new Map<string, Promise<unknown>>()

  private constructor(session: RpcSession, address: string, latest: JsonObject) {
    this.session = session
    this.#address = address
    this.head = headOf(latest)
    this.#baseFee =
      latest.baseFeePerGas === undefined ? undefined : quantity(latest.baseFeePerGas, "newest block's baseFeePerGas")
  }

  static async open(session: RpcSession, address: string): Promise<ChainView> {
    const latest = await session.request('eth_getBlockByNumber', ['latest', false])
    return new ChainView(session, address, object(latest, 'newest block'))
  }

  async market(): Promise<FeeMarket> {
    if (this.#baseFee === undefined)
      throw new RegistryError('ANCHOR_FAILED', 'The chain has no base fee: it does not know EIP-1559')
    const tip = await this.#once('eth_maxPriorityFeePerGas', [])
    return { baseFee: this.#baseFee, priorityFee: quantity(tip, 'eth_maxPriorityFeePerGas') }
  }

  /** The account's transactions that are in blocks. */
  minedNonce(): Promise<number> {
    return this.#nonce('latest')
  }

  /** The same, counting those that wait without a gap. */
  nextNonce(): Promise<number> {
    return this.#nonce('pending')
  }

  /** The account's transactions in the blocks up to this one. */
  nonceAt(blockNumber: number): Promise<number> {
    return this.#nonce(tagOf(blockNumber))
  }

  /** wei. */
  async balance(): Promise<bigint> {
    return quantity(await this.#once('eth_getBalance', [this.#address, 'latest']), 'eth_getBalance')
  }

  async estimateGas(input: Uint8Array): Promise<bigint> {
    const call = { from: this.#address, to: this.#address, value: '0x0', data: hexOf(input) }
    return quantity(await this.session.request('eth_estimateGas', [call]), 'eth_estimateGas')
  }

  async receipt(transaction: string): Promise<Receipt | undefined> {
    const answer = await this.session.request('eth_getTransactionReceipt', [transaction])
    if (answer === null) return undefined
    const receipt = object(answer, 'receipt')
    if (receipt.blockNumber === null || receipt.blockNumber === undefined) return undefined
    return {
      blockNumber: safeQuantity(receipt.blockNumber, "receipt's blockNumber"),
      blockHash: hash(receipt.blockHash, "receipt's blockHash"),
      index: safeQuantity(receipt.transactionIndex, "receipt's transactionIndex"),
    }
  }

  /** Whether it is in the node's pool or in a block. */
  async isKnown(transaction: string): Promise<boolean> {
    return (await this.session.request('eth_getTransactionByHash', [transaction])) !== null
  }

  async block(number: number): Promise<BlockHead | undefined> {
    const answer = await this.#once('eth_getBlockByNumber', [tagOf(number), false])
    return answer === null ? undefined : headOf(object(answer, 'block'))
  }

  /** With its transactions. */
  async body(number: number, blockHash: string): Promise<JsonObject> {
    const answer = object(await this.#once('eth_getBlockByNumber', [tagOf(number), true]), 'block')
    if (headOf(answer).hash !== blockHash)
      throw new RegistryError('ANCHOR_FAILED', 'The chain was reorganised while it was asked: it is asked again')
    return answer
  }

  /** `undefined` where the node calls none so. */
  async finalized(): Promise<BlockHead | undefined> {
    const ask = () => this.session.attempt('eth_getBlockByNumber', ['finalized', false])
    const answer = await this.#memo('finalized', ask)
    return answer === null || answer === undefined ? undefined : headOf(object(answer, 'finalized block'))
  }

  async #nonce(tag: string): Promise<number> {
    const count = await this.#once('eth_getTransactionCount', [this.#address, tag])
    return safeQuantity(count, 'eth_getTransactionCount')
  }

  #once(method: string, params: readonly unknown[]): Promise<unknown> {
    return this.#memo(JSON.stringify([method, params]), () => this.session.request(method, params))
  }

  #memo(key: string, ask: () => Promise<unknown>): Promise<unknown> {
    const known = this.#answers.get(key) ?? ask()
    this.#answers.set(key, known)
    return known
  }
}

const tagOf = (blockNumber: number): string => `0x${blockNumber.toString(16)}`

function headOf(block: JsonObject): BlockHead {
  return {
    number: safeQuantity(block.number, "block's number"),
    hash: hash(block.hash, "block's hash"),
    time: safeQuantity(block.timestamp, "block's timestamp") * 1000,
  }
}
