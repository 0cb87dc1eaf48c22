import { equalBytes } from '../bytes.ts'
import type { PinnedChain, Policy } from './policy.ts'
import type { AnchorClaim } from './proof-result.ts'
import { verificationError } from '../errors.ts'
import { asCount, asString, asTime, type UntrustedObject } from './untrusted.ts'

/** An anchor's transaction, as read from the chain. */
export interface AnchoredTransaction {
  /** 0 if the chain has none. */
  readonly chainId: number
  /** The account that sent it, `0x` hex in either case; for the local ledger its public key in hex. */
  readonly account: string
  /** The transaction's whole input data. */
  readonly input: Uint8Array
  readonly blockNumber: number
  readonly blockHash: string
  /** ms since 1970. */
  readonly blockTime: number
}

/** The pinned account that this anchor is said to be of. `undefined` if the policy pins none at all. */
export function pinnedChainOf(anchor: UntrustedObject, { chains = [] }: Policy): PinnedChain | undefined {
  const chain = chains.find(
    ({ type, network, chainId }) =>
      anchor['type'] === type && anchor['network'] === network && anchor['chainId'] === chainId,
  )
  if (chain === undefined && chains.length > 0)
    throw verificationError('The policy does not pin the chain of the anchor')
  return chain
}

export interface FoundAnchor {
  readonly chain: PinnedChain
  readonly transaction: AnchoredTransaction
  /** The note with the log's signature alone. */
  readonly noteBytes: Uint8Array
}

/**
 * What a transaction on the chain proves. Throws `VERIFICATION_FAILED` unless it is the shown one, of the pinned
 * account.
 */
export function anchorClaim(anchor: UntrustedObject, { chain, transaction, noteBytes }: FoundAnchor): AnchorClaim {
  const { chainId, account, input, blockNumber, blockHash, blockTime } = transaction
  if (chainId !== chain.chainId) throw verificationError('The transaction is on another chain than the pinned one')
  if (account.toLowerCase() !== chain.account.toLowerCase())
    throw verificationError('The transaction is sent by another account than the pinned one')
  if (!equalBytes(input, noteBytes)) throw verificationError('The transaction holds another checkpoint')
  if (asCount(anchor['blockNumber'], 'blockNumber') !== blockNumber || anchor['blockHash'] !== blockHash)
    throw verificationError('The transaction is in another block')
  if (asTime(anchor['blockTime'], 'blockTime') !== blockTime) throw verificationError('The block has another time')
  const txHash = asString(anchor['txHash'], 'txHash')
  return { ...chain, txHash, blockNumber, blockHash, blockTime }
}
