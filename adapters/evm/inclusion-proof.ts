import { canonicalJson, encodeUtf8 } from '../kit/index.ts'
import { headerOf } from '../../core/verify/chain/header.ts'
import { hexOf } from '../../core/verify/chain/rlp.ts'
import { buildTransactionTrie } from '../../core/verify/chain/trie.ts'
import type { RpcSession } from './endpoints.ts'
import type { JsonObject } from './quantity.ts'
import { rawTransactionsOf } from './raw-transactions.ts'

interface ConfirmedTransaction {
  readonly chainId: number
  /** The signed transaction, and its index in the block. */
  readonly raw: Uint8Array
  readonly index: number
  /** The block with its transactions, as the node returned it. */
  readonly block: JsonObject
}

/**
 * Makes the proof that is stored with a confirmed transaction, because nodes prune old blocks. Canonical JSON in UTF-8:
 *
 *     {"chainId", "inclusion": {"header", "index", "proof"}, "raw", "v": 1}
 *
 * `raw` is the signed transaction. `header` is the RLP of the block's header, which hashes to the block's hash. `proof`
 * is the RLP of each trie node from the header's transactionsRoot to the transaction at `index`. All bytes are `0x`
 * hex. `inclusion` is null if it cannot be made: the chain's headers or transactions differ from Ethereum's.
 */
export async function makeInclusionProof(
  { chainId, raw, index, block }: ConfirmedTransaction,
  session: RpcSession,
): Promise<Uint8Array> {
  const header = headerOf(block)
  const transactions = header === undefined ? undefined : await rawTransactionsOf(block, session)
  const trie = transactions && buildTransactionTrie(transactions)
  const isComplete = trie?.root === block.transactionsRoot && transactions?.[index] === hexOf(raw)
  const inclusion = trie !== undefined && isComplete ? { header, index, proof: trie.proof(index) } : null
  return encodeUtf8(canonicalJson({ v: 1, chainId, raw: hexOf(raw), inclusion }))
}
