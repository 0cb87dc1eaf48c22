import type { Assurance } from './timestamp-authority.ts'

export interface AnchorInfo {
  /** `local`, `evm`, … */
  readonly type: string
  readonly network: string
  /** 0 if the chain has none. */
  readonly chainId: number
  readonly assurance: Assurance
  /**
   * Who signs: for `evm` the sender's address, for `local` the ledger's Ed25519 public key in hex. Verifiers pin it.
   * Absent if the chain has no accounts.
   */
  readonly account?: string
}

/** A signed transaction that anchors a checkpoint. */
export interface PreparedAnchor {
  /** The hash of the transaction, as the chain writes it. */
  readonly ref: string
  /** The signed bytes. Sending them more than once does no harm. */
  readonly raw: Uint8Array
}

/** The block that contains a transaction. */
export interface BlockInclusion {
  readonly blockNumber: number
  readonly blockHash: string
  /** The chain's own time of the block, ms since 1970. */
  readonly blockTime: number
  /** How many blocks are on top of it, including the block itself. */
  readonly confirmations: number
}

export type AnchorStatus =
  /** The chain does not know it: never sent, dropped, or removed by a reorganization. Sending it again may help. */
  | { readonly state: 'unknown' }
  /**
   * Waits for a block, or for certainty that another transaction replaced it. `stuck`: it will not be included under
   * the current conditions (its fee is too low, or an earlier transaction is missing), but a replacement would be.
   */
  | { readonly state: 'pending'; readonly stuck: boolean }
  /** In a block that does not have enough confirmations yet. */
  | ({ readonly state: 'included' } & BlockInclusion)
  /**
   * Has as many confirmations as the adapter's setting demands. `proof`: the inclusion proof that is stored, because
   * nodes delete old data. `settled`: no reorganization can reach it anymore; until then it is polled again.
   */
  | ({ readonly state: 'confirmed'; readonly proof: Uint8Array; readonly settled: boolean } & BlockInclusion)
  /**
   * Can never be included, because another transaction with its nonce is confirmed. `isPruned`: or the chain has
   * deleted what would show it. A confirmation that is recorded stays valid then.
   */
  | { readonly state: 'failed'; readonly reason: string; readonly isPruned?: boolean }

/** Transactions of the account that the registry did not send. */
export interface ForeignUse {
  /** Names the account and the first such transaction, without a full stop. */
  readonly message: string
  /** How many transactions the account has sent in all. */
  readonly uses: number
}

/**
 * Puts checkpoints on a chain.
 *
 * @throws `ANCHOR_FAILED` for a failure after which the call can be repeated
 */
export interface Anchor {
  readonly info: AnchorInfo
  /**
   * Signs a transaction without sending it. A transaction that was prepared and never broadcast leaves no trace. If two
   * are prepared without a broadcast in between, possibly only one of them can be included.
   *
   * @param request - `checkpoint`: the whole signed note; `replaces`: earlier transactions for the same anchor that are
   * stuck or failed
   */
  prepare(
    request: { readonly checkpoint: Uint8Array; readonly replaces?: readonly PreparedAnchor[] },
    signal?: AbortSignal,
  ): Promise<PreparedAnchor>
  /** Sends signed bytes. Idempotent: the same bytes can be sent any number of times. */
  broadcast(raw: Uint8Array, signal?: AbortSignal): Promise<void>
  /** The status of each transaction, in order. */
  status(transactions: readonly PreparedAnchor[], signal?: AbortSignal): Promise<readonly AnchorStatus[]>
  /**
   * Looks for transactions that the account has sent since its first one of `own`, and that are not in `own`: another
   * instance of the registry uses the account, or records were lost.
   *
   * @param own - every transaction on record for this chain, in any order, also of other accounts. Read them after the
   * account's count, because another process may add some
   * @param confirmed - the operator knows of so many transactions of the account, from its first one on
   * @returns `undefined` if there are none, if `own` has no transaction of the account, or if the chain does not count
   * the transactions of an account
   */
  findForeignUse(
    own: AsyncIterable<PreparedAnchor>,
    confirmed: number,
    signal?: AbortSignal,
  ): Promise<ForeignUse | undefined>
  close(): Promise<void>
  /** Tells what the account can still pay; `null` if anchors cost nothing. */
  readonly funds: AnchorFunds | null
}

/** What the account of an anchor holds. */
export interface AnchorFunds {
  /**
   * @returns `coins`: what it holds, in coins of the chain. `anchors`: how many anchors that pays at the highest fee.
   * @throws `ANCHOR_FAILED`
   */
  read(signal?: AbortSignal): Promise<{ readonly coins: number; readonly anchors: number }>
}
