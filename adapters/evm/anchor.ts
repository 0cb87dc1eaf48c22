import {
  BoundedMap,
  RegistryError,
  type Anchor,
  type AnchorFunds,
  type AnchorInfo,
  type AnchorStatus,
  type BlockInclusion,
  type ForeignUse,
  type PreparedAnchor,
} from '../kit/index.ts'
import type { EvmAccount } from './account.ts'
import { ChainView, SETTLED_CONFIRMATIONS, type Receipt } from './chain-view.ts'
import { loadEthers } from './ethers.ts'
import { RpcEndpoints } from './rpc.ts'
import type { ProxySettings } from '../outside.ts'
import { findForeignUse } from './foreign-use.ts'
import { makeInclusionProof } from './inclusion-proof.ts'
import { gwei, isOutbid, offerFor, type FeeOffer } from './fees.ts'
import { hexOf } from '../../core/verify/chain/rlp.ts'
import { parseTransaction, type ParsedTransaction } from '../../core/verify/chain/transaction.ts'

/** Settings of an EVM anchor. */
export interface EvmAnchorOptions {
  /** http or https URLs of nodes of one chain, at least one. They may contain API keys and appear in no message. */
  readonly rpcUrls: readonly string[]
  /** The chain's id (EIP-155), from 1. */
  readonly chainId: number
  /** Signs and pays the transactions. */
  readonly account: EvmAccount
  /**
   * A transaction is confirmed once this many blocks (including its own) are on top, or with `finalized` once the chain
   * calls its block so. Default: 12.
   */
  readonly confirmations?: number | 'finalized'
  /** Upper bound of what a transaction offers, in wei per gas (`weiOf` converts gwei). */
  readonly maxFeePerGas: bigint
  /** Time limit of each request to a node, in ms. Default: 10,000. */
  readonly timeoutMs?: number
  /** Proxies for requests to the nodes. Default: none. */
  readonly proxies?: ProxySettings
}

const DEFAULT_CONFIRMATIONS = 12
/** Added to a node's gas estimate, because another node may count slightly more. */
const GAS_MARGIN_PERCENT = 20n
const MAX_CACHED_PROOFS = 64

/**
 * Opens an anchor on an EVM chain. Nodes that do not respond now are tried again with each use.
 *
 * @param options nodes, chain, account and limits
 * @param signal aborts the check of the nodes' chain
 * @returns the anchor; close it at the end
 * @throws `CONFIG_ERROR` for invalid options, or if a node belongs to another chain
 * @example
 * const account = await accountOfPrivateKey(privateKey)
 * const anchor = await openEvmAnchor({ rpcUrls: [url], chainId: 1, account, maxFeePerGas: weiOf(50) })
 */
export async function openEvmAnchor(options: EvmAnchorOptions, signal?: AbortSignal): Promise<EvmAnchor> {
  const { rpcUrls, chainId, confirmations = DEFAULT_CONFIRMATIONS, maxFeePerGas, timeoutMs = 10_000 } = options
  if (!Number.isSafeInteger(chainId) || chainId < 1)
    throw new RegistryError('CONFIG_ERROR', `The EVM chain id must be an integer from 1, got ${chainId}`)
  if (confirmations !== 'finalized' && (!Number.isSafeInteger(confirmations) || confirmations < 1))
    throw new RegistryError(
      'CONFIG_ERROR',
      `The EVM confirmations must be an integer from 1 or finalized, got ${confirmations}`,
    )
  if (maxFeePerGas < 1n) throw new RegistryError('CONFIG_ERROR', 'The EVM fee cap must be more than 0 wei')
  const endpoints = new RpcEndpoints(rpcUrls, { chainId, timeoutMs, proxies: options.proxies })
  await Promise.all([endpoints.assertChain(signal), loadEthers()])
  return new EvmAnchor(endpoints, { ...options, confirmations })
}

/**
 * Puts checkpoints on any EVM chain, each as the input of an EIP-1559 transaction of value 0 from an account to itself.
 * Keeps no state: nonces come from the chain, so of two transactions that are prepared without a broadcast between them
 * only one can be included.
 */
export class EvmAnchor implements Anchor {
  readonly info: AnchorInfo
  readonly #endpoints: RpcEndpoints
  readonly #options: EvmAnchorOptions & { readonly confirmations: number | 'finalized' }
  /** By block and transaction. A proof needs the block's whole body, and confirmed anchors are polled again. */
  readonly #proofs = new BoundedMap<string, Uint8Array>(MAX_CACHED_PROOFS)
  #isClosed = false

  constructor(endpoints: RpcEndpoints, options: EvmAnchorOptions & { readonly confirmations: number | 'finalized' }) {
    // The network's name is that of CAIP-2.
    this.info = {
      type: 'evm',
      network: `eip155:${options.chainId}`,
      chainId: options.chainId,
      assurance: 'independent',
      account: options.account.address,
    }
    this.#endpoints = endpoints
    this.#options = options
  }

  /** Address of the account that signs and pays, `0x` hex in mixed case (EIP-55). */
  get address(): string {
    return this.#options.account.address
  }

  /** Also throws `ANCHOR_FAILED` if the fee cap or the account's balance is too small. */
  async prepare(
    { checkpoint, replaces = [] }: { readonly checkpoint: Uint8Array; readonly replaces?: readonly PreparedAnchor[] },
    signal?: AbortSignal,
  ): Promise<PreparedAnchor> {
    const view = await this.#view(signal)
    const [market, mined, next, balance] = await Promise.all([
      view.market(),
      view.minedNonce(),
      view.nextNonce(),
      view.balance(),
    ])
    const earlier = replaces.flatMap(({ raw }) => parseTransaction(raw) ?? [])
    const nonce = nonceFor(earlier, mined, next)
    const rivals = earlier.filter((each) => each.nonce === nonce)
    const offer = offerFor(market, this.#options.maxFeePerGas, rivals)
    this.#assertFunded(balance, MIN_GAS, offer)
    const gasLimit = ((await view.estimateGas(checkpoint)) * (100n + GAS_MARGIN_PERCENT)) / 100n
    this.#assertFunded(balance, gasLimit, offer)
    const { chainId, account } = this.#options
    const { hash, raw } = account.sign({ chainId, nonce, gasLimit, input: checkpoint, ...offer })
    return { ref: hash, raw }
  }

  /** Sends to every node and succeeds if one accepts, so that it does not depend on nodes that do not relay. */
  async broadcast(raw: Uint8Array, signal?: AbortSignal): Promise<void> {
    this.#assertOpen(signal)
    const rejections = await this.#endpoints.sendToAll(raw, signal)
    if (rejections.includes(undefined)) return
    // Nodes word "already known" and "already in a block" in many ways, so look it up instead.
    const view = await this.#view(signal)
    const { hash } = ownTransaction({ ref: '', raw })
    if ((await view.receipt(hash)) !== undefined || (await view.isKnown(hash))) return
    throw new RegistryError(
      'ANCHOR_FAILED',
      `No node accepted the transaction ${hash}. ${rejections.map((rejection) => rejection?.message).join('; ')}`,
      { cause: rejections[0] },
    )
  }

  async status(transactions: readonly PreparedAnchor[], signal?: AbortSignal): Promise<readonly AnchorStatus[]> {
    if (transactions.length === 0) return []
    const view = await this.#view(signal)
    const statuses: AnchorStatus[] = []
    for (const transaction of transactions) statuses.push(await this.#statusOf(transaction, view))
    return statuses
  }

  /** Coins have 10^18 wei; an anchor costs at most its gas at the fee cap. */
  readonly funds: AnchorFunds = {
    read: async (signal) => {
      const balance = await (await this.#view(signal)).balance()
      return { coins: Number(balance) / 1e18, anchors: Number(balance / (ANCHOR_GAS * this.#options.maxFeePerGas)) }
    },
  }

  /** Compares the nonces of `own` with the number of the account's transactions, including pending ones. */
  async findForeignUse(
    own: AsyncIterable<PreparedAnchor>,
    confirmed: number,
    signal?: AbortSignal,
  ): Promise<ForeignUse | undefined> {
    const uses = await (await this.#view(signal)).nextNonce()
    return findForeignUse(own, { address: this.address, uses, confirmed })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#endpoints.close()
  }

  #assertOpen(signal: AbortSignal | undefined): void {
    if (this.#isClosed) throw new RegistryError('CLOSED', 'The EVM anchor is closed')
    signal?.throwIfAborted()
  }

  /** A new view for each operation, because a view caches what it has read. */
  async #view(signal: AbortSignal | undefined): Promise<ChainView> {
    this.#assertOpen(signal)
    return new ChainView(await this.#endpoints.session(signal), this.address)
  }

  async #statusOf(transaction: PreparedAnchor, view: ChainView): Promise<AnchorStatus> {
    const { ref } = transaction
    const receipt = await view.receipt(ref)
    if (receipt !== undefined) {
      const { blockNumber, blockHash } = receipt
      const block = await view.block(blockNumber)
      const blockTime = block?.time ?? receipt.blockTime
      // The chain was reorganized between the two requests: the next poll shows the result.
      if (block !== undefined && block.hash !== blockHash) return { state: 'pending', stuck: false }
      if (blockTime === undefined) return statusWithoutTime(blockNumber, view)
      const confirmations = Math.max(1, view.head.number - blockNumber + 1)
      const inclusion: BlockInclusion = { blockNumber, blockHash, blockTime, confirmations }
      if (!(await this.#isConfirmed(inclusion, view))) return { state: 'included', ...inclusion }
      const proof = await this.#proofOf(transaction, receipt, view)
      return { state: 'confirmed', ...inclusion, proof, settled: await isSettled(inclusion, view) }
    }
    const own = ownTransaction(transaction)
    if (await view.isKnown(ref)) return { state: 'pending', stuck: await isStuck(own, view) }
    return this.#statusOfAbsent(own, view)
  }

  /** For a transaction that the node does not know: unknown, unless its nonce is used deep enough in the chain. */
  async #statusOfAbsent({ nonce }: ParsedTransaction, view: ChainView): Promise<AnchorStatus> {
    if ((await view.minedNonce()) <= nonce) return { state: 'unknown' }
    const { confirmations } = this.#options
    const deepest =
      confirmations === 'finalized' ? (await view.finalized())?.number : view.head.number - confirmations + 1
    if (deepest === undefined || deepest < 0 || (await view.nonceAt(deepest)) <= nonce)
      return { state: 'pending', stuck: false }
    const reason = `the node does not find the transaction, and its nonce ${nonce} is used`
    return { state: 'failed', reason, ...(view.isPruned && { isPruned: true }) }
  }

  async #isConfirmed({ blockNumber, confirmations }: BlockInclusion, view: ChainView): Promise<boolean> {
    const needed = this.#options.confirmations
    if (needed !== 'finalized') return confirmations >= needed
    const finalized = await view.finalized()
    if (finalized === undefined)
      throw new RegistryError(
        'ANCHOR_FAILED',
        'The node reports no finalized block: set the EVM confirmations to a number of blocks',
      )
    return blockNumber <= finalized.number
  }

  async #proofOf(
    { ref, raw }: PreparedAnchor,
    { blockNumber, blockHash, index }: Receipt,
    view: ChainView,
  ): Promise<Uint8Array> {
    const key = `${blockHash}/${ref}`
    const cached = this.#proofs.get(key)
    if (cached !== undefined) return cached
    const block = await view.body(blockNumber, blockHash)
    const proof = await makeInclusionProof({ chainId: this.info.chainId, raw, index, block }, view.session)
    this.#proofs.set(key, proof)
    return proof
  }

  #assertFunded(balance: bigint, gas: bigint, { maxFeePerGas }: FeeOffer): void {
    const needed = gas * maxFeePerGas
    if (balance >= needed) return
    throw new RegistryError(
      'ANCHOR_FAILED',
      `The account ${this.address} holds ${gwei(balance)} gwei, but an anchor may cost ${gwei(needed)} gwei: fund it`,
    )
  }
}

/** About what an anchor takes: a checkpoint of 300 bytes at 40 gas each (EIP-7623), and the margin. */
const ANCHOR_GAS = 40_000n
/** Gas of the cheapest transaction (EIP-2028). Nodes do not estimate for an account that cannot pay this much. */
const MIN_GAS = 21_000n

/**
 * The lowest unused nonce of the earlier transactions, to outbid its holder; a free nonce before it if a missing
 * transaction blocks them; otherwise the account's next nonce.
 */
function nonceFor(earlier: readonly ParsedTransaction[], mined: number, next: number): number {
  const live = earlier.map(({ nonce }) => nonce).filter((nonce) => nonce >= mined)
  return live.length === 0 ? next : Math.min(next, ...live)
}

async function isStuck(own: ParsedTransaction, view: ChainView): Promise<boolean> {
  // It was included in the meantime.
  if ((await view.minedNonce()) > own.nonce) return false
  const isBehindGap = (await view.nextNonce()) < own.nonce
  return isBehindGap || isOutbid(own, await view.market())
}

/** No claim can be made of a block without its time: a new transaction replaces an old one, whose block is deleted. */
function statusWithoutTime(blockNumber: number, view: ChainView): AnchorStatus {
  if (!view.isOld(blockNumber)) return { state: 'pending', stuck: false }
  const reason = `the node has deleted block ${blockNumber}, which holds it, and its header`
  return { state: 'failed', reason, isPruned: true }
}

async function isSettled({ blockNumber, confirmations }: BlockInclusion, view: ChainView): Promise<boolean> {
  const finalized = await view.finalized()
  return finalized === undefined ? confirmations >= SETTLED_CONFIRMATIONS : blockNumber <= finalized.number
}

/** Parses a stored transaction, which this adapter signed. */
function ownTransaction({ ref, raw }: PreparedAnchor): ParsedTransaction {
  const parsed = parseTransaction(raw)
  if (parsed === undefined)
    throw new RegistryError(
      'CORRUPT',
      `The stored bytes of the transaction ${ref || hexOf(raw)} are not an EIP-1559 transaction`,
    )
  return parsed
}
