import { RegistryError } from '../../core/errors.ts'
import type { Anchor, AnchorInfo, BlockInclusion, AnchorStatus, PreparedAnchor } from '../../core/ports.ts'
import type { EvmAccount } from './account.ts'
import { ChainView } from './chain-view.ts'
import { RpcEndpoints } from './endpoints.ts'
import { makeInclusionProof } from './inclusion-proof.ts'
import { gwei, isOutbid, offerFor, type FeeOffer } from './fees.ts'
import { hexOf } from './quantity.ts'
import { parseTransaction, type ParsedTransaction } from './transaction.ts'

export interface EvmAnchorOptions {
  /** http or https, one node each, of one chain. They may hold keys, and are shown nowhere. */
  readonly rpcUrls: readonly string[]
  readonly chainId: number
  readonly account: EvmAccount
  /** A transaction is confirmed in a block so deep, its own counted, or in one that the chain calls finalized. Default 12. */
  readonly confirmations?: number | 'finalized'
  /** No transaction offers more a gas than this, in wei. */
  readonly maxFeePerGas: bigint
  /** A node has so long for each answer. Default 10,000. */
  readonly timeoutMs?: number
}

export const DEFAULT_CONFIRMATIONS = 12
/** Where a chain calls no block finalized, one so deep counts as settled. */
const SETTLED_CONFIRMATIONS = 128
/** Beyond what a node estimates: another node may count a little more. */
const GAS_MARGIN_PERCENT = 20n
const MAX_KEPT_EVIDENCE = 32

/**
 * Opens an anchor on an EVM chain. Throws `CONFIG_ERROR` for settings that cannot be, and where a node answers that it is of another
 * chain; nodes that do not answer are tried again with each use.
 */
export async function openEvmAnchor(options: EvmAnchorOptions, signal?: AbortSignal): Promise<EvmAnchor> {
  const { rpcUrls, chainId, confirmations = DEFAULT_CONFIRMATIONS, maxFeePerGas, timeoutMs = 10_000 } = options
  if (!Number.isSafeInteger(chainId) || chainId < 1)
    throw new RegistryError('CONFIG_ERROR', `The EVM chain id takes an integer from 1, not ${chainId}`)
  if (confirmations !== 'finalized' && (!Number.isSafeInteger(confirmations) || confirmations < 1))
    throw new RegistryError(
      'CONFIG_ERROR',
      `The EVM confirmations take an integer from 1 or finalized, not ${confirmations}`,
    )
  if (maxFeePerGas < 1n) throw new RegistryError('CONFIG_ERROR', 'The EVM fee cap takes more than 0 wei')
  const endpoints = new RpcEndpoints(rpcUrls, chainId, timeoutMs)
  await endpoints.assertChain(signal)
  return new EvmAnchor(endpoints, { ...options, confirmations })
}

/**
 * Checkpoints as the input of EIP-1559 transactions of value 0 from an account to itself, on any EVM chain. It keeps no state: nonces
 * and places are the chain's, so of two that are prepared without a broadcast between them only one can be included.
 */
export class EvmAnchor implements Anchor {
  readonly info: AnchorInfo
  readonly #endpoints: RpcEndpoints
  readonly #options: EvmAnchorOptions & { readonly confirmations: number | 'finalized' }
  /** By block and transaction: a proof takes the block's whole body, and a confirmed anchor is asked after again and again. */
  readonly #evidence = new Map<string, Uint8Array>()
  #isClosed = false

  constructor(endpoints: RpcEndpoints, options: EvmAnchorOptions & { readonly confirmations: number | 'finalized' }) {
    // As CAIP-2 names networks.
    this.info = {
      type: 'evm',
      network: `eip155:${options.chainId}`,
      chainId: options.chainId,
      assurance: 'independent',
    }
    this.#endpoints = endpoints
    this.#options = options
  }

  /** The account that signs and pays. */
  get address(): string {
    return this.#options.account.address
  }

  /** Also throws `ANCHOR_FAILED` where the fee cap or the account's balance is too small. */
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

  /** To every node: one that takes it is enough, and the others do not depend on it passing it on. */
  async broadcast(raw: Uint8Array, signal?: AbortSignal): Promise<void> {
    this.#assertOpen(signal)
    const refusals = await this.#endpoints.sendToAll(raw, signal)
    if (refusals.includes(undefined)) return
    // Nodes have many words for "I have it already", and for "it is in a block".
    const view = await this.#view(signal)
    const { hash } = ownTransaction({ ref: '', raw })
    if ((await view.receipt(hash)) !== undefined || (await view.isKnown(hash))) return
    throw new RegistryError(
      'ANCHOR_FAILED',
      `No node took the transaction ${hash}. ${refusals.map((refusal) => refusal?.message).join('; ')}`,
      { cause: refusals[0] },
    )
  }

  async status(transactions: readonly PreparedAnchor[], signal?: AbortSignal): Promise<readonly AnchorStatus[]> {
    if (transactions.length === 0) return []
    const view = await this.#view(signal)
    const statuses: AnchorStatus[] = []
    for (const transaction of transactions) statuses.push(await this.#statusOf(transaction, view))
    return statuses
  }

  async close(): Promise<void> {
    this.#isClosed = true
  }

  #assertOpen(signal: AbortSignal | undefined): void {
    if (this.#isClosed) throw new RegistryError('CLOSED', 'The EVM anchor is closed')
    signal?.throwIfAborted()
  }

  /** A new one each time: what it has read once it does not read again. */
  async #view(signal: AbortSignal | undefined): Promise<ChainView> {
    this.#assertOpen(signal)
    return ChainView.open(await this.#endpoints.session(signal), this.address)
  }

  async #statusOf(transaction: PreparedAnchor, view: ChainView): Promise<AnchorStatus> {
    const { ref } = transaction
    const receipt = await view.receipt(ref)
    if (receipt !== undefined) {
      const block = await view.block(receipt.blockNumber)
      // Between two of the answers the chain was reorganised: the next look sees which it is.
      if (block?.hash !== receipt.blockHash) return { state: 'pending', stuck: false }
      const place: BlockInclusion = {
        blockNumber: receipt.blockNumber,
        blockHash: receipt.blockHash,
        blockTime: block.time,
        confirmations: Math.max(1, view.head.number - receipt.blockNumber + 1),
      }
      if (!(await this.#isDeep(place, view))) return { state: 'included', ...place }
      const evidence = await this.#evidenceOf(transaction, receipt, view)
      return { state: 'confirmed', ...place, proof: evidence, settled: await isSettled(place, view) }
    }
    const own = ownTransaction(transaction)
    if (await view.isKnown(ref)) return { state: 'pending', stuck: await isStuck(own, view) }
    return this.#statusOfAbsent(own, view)
  }

  /** It is in no block and no pool: to be sent again, unless another of its nonce is in a block. */
  async #statusOfAbsent({ nonce }: ParsedTransaction, view: ChainView): Promise<AnchorStatus> {
    if ((await view.minedNonce()) <= nonce) return { state: 'unknown' }
    const { confirmations } = this.#options
    const deepest =
      confirmations === 'finalized' ? (await view.finalized())?.number : view.head.number - confirmations + 1
    if (deepest === undefined || deepest < 0 || (await view.nonceAt(deepest)) <= nonce)
      return { state: 'pending', stuck: false }
    return { state: 'failed', reason: `another transaction has used nonce ${nonce}` }
  }

  async #isDeep({ blockNumber, confirmations }: BlockInclusion, view: ChainView): Promise<boolean> {
    const needed = this.#options.confirmations
    if (needed !== 'finalized') return confirmations >= needed
    const finalized = await view.finalized()
    if (finalized === undefined)
      throw new RegistryError(
        'ANCHOR_FAILED',
        'The node calls no block finalized: set the EVM confirmations to a number of blocks',
      )
    return blockNumber <= finalized.number
  }

  async #evidenceOf(
    { ref, raw }: PreparedAnchor,
    {
      blockNumber,
      blockHash,
      index,
    }: { readonly blockNumber: number; readonly blockHash: string; readonly index: number },
    view: ChainView,
  ): Promise<Uint8Array> {
    const key = `${blockHash}/${ref}`
    const kept = this.#evidence.get(key)
    if (kept !== undefined) return kept
    const block = await view.body(blockNumber, blockHash)
    const evidence = await makeInclusionProof(this.info.chainId, raw, index, block, view.session)
    this.#evidence.set(key, evidence)
    for (const oldest of this.#evidence.keys()) {
      if (this.#evidence.size <= MAX_KEPT_EVIDENCE) break
      this.#evidence.delete(oldest)
    }
    return evidence
  }

  #assertFunded(balance: bigint, gas: bigint, { maxFeePerGas }: FeeOffer): void {
    const needed = gas * maxFeePerGas
    if (balance >= needed) return
    throw new RegistryError(
      'ANCHOR_FAILED',
      `The account ${this.address} holds ${gwei(balance)} gwei, and an anchor may take ${gwei(needed)}: fund it`,
    )
  }
}

/** EIP-2028: what any transaction takes. Before this much is there no node estimates. */
const MIN_GAS = 21_000n

/**
 * The lowest nonce of the earlier ones that is not used yet, to be outbid; a free one before it, where a missing transaction holds them
 * up; else the account's next.
 */
function nonceFor(earlier: readonly ParsedTransaction[], mined: number, next: number): number {
  const live = earlier.map(({ nonce }) => nonce).filter((nonce) => nonce >= mined)
  return live.length === 0 ? next : Math.min(next, ...live)
}

async function isStuck(own: ParsedTransaction, view: ChainView): Promise<boolean> {
  // Included since it was asked after.
  if ((await view.minedNonce()) > own.nonce) return false
  const isBehindGap = (await view.nextNonce()) < own.nonce
  return isBehindGap || isOutbid(own, await view.market())
}

async function isSettled({ blockNumber, confirmations }: BlockInclusion, view: ChainView): Promise<boolean> {
  const finalized = await view.finalized()
  return finalized === undefined ? confirmations >= SETTLED_CONFIRMATIONS : blockNumber <= finalized.number
}

/** What was stored is what this adapter signed. */
function ownTransaction({ ref, raw }: PreparedAnchor): ParsedTransaction {
  const parsed = parseTransaction(raw)
  if (parsed === undefined)
    throw new RegistryError('CORRUPT', `The stored bytes of the transaction ${ref || hexOf(raw)} are none of EIP-1559`)
  return parsed
}
