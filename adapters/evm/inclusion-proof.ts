import type { TransactionLike } from 'ethers/transaction'
import { canonicalJson, encodeUtf8 } from '../kit/index.ts'
import { headerOf } from '../../core/verify/chain/header.ts'
import { hexOf, keccak256 } from '../../core/verify/chain/rlp.ts'
import { buildTransactionTrie } from '../../core/verify/chain/trie.ts'
import { loadEthers, type Ethers } from './ethers.ts'
import type { RpcSession } from './rpc.ts'
import { isObject, type JsonObject } from './values.ts'

interface ConfirmedTransaction {
  readonly chainId: number
  /** The signed transaction, and its index in the block. */
  readonly raw: Uint8Array
  readonly index: number
  /** The block with its transactions, as the node returned it. `undefined` if the node has deleted it. */
  readonly block: JsonObject | undefined
}

/**
 * Makes the proof that is stored with a confirmed transaction, because nodes prune old blocks. Canonical JSON in UTF-8:
 *
 *     {"chainId", "inclusion": {"header", "index", "proof"}, "raw", "v": 1}
 *
 * `raw` is the signed transaction. `header` is the RLP of the block's header, which hashes to the block's hash. `proof`
 * is the RLP of each trie node from the header's transactionsRoot to the transaction at `index`. All bytes are `0x`
 * hex. `inclusion` is null if it cannot be made: the chain's headers or transactions differ from Ethereum's, or no node
 * has the block any more.
 */
export async function makeInclusionProof(
  { chainId, raw, index, block }: ConfirmedTransaction,
  session: RpcSession,
): Promise<Uint8Array> {
  const header = block && headerOf(block)
  const transactions = block && header !== undefined ? await rawTransactionsOf(block, session) : undefined
  const trie = transactions && buildTransactionTrie(transactions)
  const isComplete = trie?.root === block?.transactionsRoot && transactions?.[index] === hexOf(raw)
  const inclusion = trie !== undefined && isComplete ? { header, index, proof: trie.proof(index) } : null
  return encodeUtf8(canonicalJson({ v: 1, chainId, raw: hexOf(raw), inclusion }))
}

/**
 * Returns the raw transactions (`0x` hex) of a block that was read with its transactions. Requests the bytes of those
 * of an unknown type from the node; returns `undefined` if the node does not provide them.
 */
async function rawTransactionsOf(block: JsonObject, session: RpcSession): Promise<readonly string[] | undefined> {
  if (!Array.isArray(block.transactions)) return undefined
  const transactions: readonly unknown[] = block.transactions
  const ethers = await loadEthers()
  const raws: string[] = []
  for (const transaction of transactions) {
    if (!isObject(transaction)) return undefined
    const { hash } = transaction
    const raw =
      encodeShownTransaction(ethers, transaction) ?? (await session.attempt('eth_getRawTransactionByHash', [hash]))
    if (typeof raw !== 'string' || !/^0x([0-9a-f]{2})+$/.test(raw) || keccak256(raw) !== hash) return undefined
    raws.push(raw)
  }
  return raws
}

/**
 * Rebuilds the raw bytes (`0x` hex) of a transaction from a block's JSON. Returns `undefined` if they do not hash to
 * its hash: ethers does not know the type, or the node leaves fields out.
 */
export function encodeShownTransaction({ Transaction }: Ethers, shown: JsonObject): string | undefined {
  const { type = '0x0', gas, input, hash, authorizationList } = shown
  const delegations = Array.isArray(authorizationList) ? authorizationList.filter(isObject) : []
  const fields = {
    ...shown,
    type: Number(type),
    gasLimit: gas,
    data: input,
    // Its price is not part of a transaction that has fees.
    gasPrice: shown.maxFeePerGas === undefined ? shown.gasPrice : null,
    // The hash covers it, and to recover it from the signature takes long.
    from: null,
    signature: signatureOf(shown),
    authorizationList: type === '0x4' ? delegations.map((each) => ({ ...each, signature: signatureOf(each) })) : null,
  }
  try {
    // eslint-disable-next-line typescript/no-unsafe-type-assertion -- ethers checks each field, and the hash
    const transaction = Transaction.from(fields as TransactionLike)
    return transaction.hash === hash ? transaction.serialized : undefined
  } catch {
    return undefined
  }
}

/** With numbers in the form that ethers needs. */
const signatureOf = ({ r, s, yParity, v }: JsonObject): object => ({
  r: `0x${String(r).slice(2).padStart(64, '0')}`,
  s: `0x${String(s).slice(2).padStart(64, '0')}`,
  v: yParity ?? v,
})
