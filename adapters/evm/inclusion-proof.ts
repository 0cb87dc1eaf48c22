import { decodeUtf8, encodeUtf8, fromHex } from '../../core/bytes.ts'
import { canonicalJson, parseStrictJson } from '../../core/commitment/canonical-json.ts'
import { RegistryError } from '../../core/errors.ts'
import type { RpcSession } from './endpoints.ts'
import { headerOf, parseHeader, type Header } from './header.ts'
import { hexOf, isObject, type JsonObject } from './quantity.ts'
import { rawTransactionsOf } from './raw-transactions.ts'
import { parseTransaction } from './transaction.ts'
import { buildTransactionTrie, transactionByProof } from './trie.ts'

/**
 * What is kept of a confirmed transaction, because nodes prune old bodies: canonical JSON in UTF-8,
 *
 *     {"chainId", "inclusion": {"header", "index", "proof"}, "raw", "v": 1}
 *
 * `raw`: the signed transaction. `header`: the RLP of the block's header, which hashes to the block's hash. `proof`: RLP of the trie's
 * nodes from the header's transactionsRoot to the transaction at `index`. All bytes are `0x` hex. `inclusion` is null for a chain whose
 * headers or transactions are not Ethereum's, where it can not be made.
 */
export async function makeInclusionProof(
  chainId: number,
  raw: Uint8Array,
  index: number,
  block: JsonObject,
  session: RpcSession,
): Promise<Uint8Array> {
  const header = headerOf(block)
  const transactions = header === undefined ? undefined : await rawTransactionsOf(block, session)
  const trie = transactions && buildTransactionTrie(transactions)
  const isWhole = trie?.root === block.transactionsRoot && transactions?.[index] === hexOf(raw)
  const inclusion = trie !== undefined && isWhole ? { header, index, proof: trie.proof(index) } : null
  return encodeUtf8(canonicalJson({ v: 1, chainId, raw: hexOf(raw), inclusion }))
}

export interface ExpectedEvmAnchor {
  readonly chainId: number
  /** The registry's account, as an address; upper and lower case are the same. */
  readonly account: string
  /** The checkpoint's whole signed note. */
  readonly checkpoint: Uint8Array
  /** As the registry answers them. */
  readonly txHash: string
  readonly blockHash: string
}

export interface VerifiedEvmAnchor {
  readonly blockNumber: number
  /** The block's own time, ms since 1970. */
  readonly blockTime: number
}

/**
 * Checks what was kept of an anchor, offline: that the raw transaction hashes to `txHash`, is of this chain, signed by the account, pays
 * nothing to the account itself and carries the checkpoint, and that it is included under the transactionsRoot of a header that
 * hashes to `blockHash`. What remains to be asked of any node or explorer is one thing: whether `blockHash` is a block of the chain.
 * Throws `VERIFICATION_FAILED` that says which of these is not so.
 */
export function verifyEvmAnchor(evidence: Uint8Array, expected: ExpectedEvmAnchor): VerifiedEvmAnchor {
  const { chainId, raw, inclusion } = parseEvidence(evidence)
  checkTransaction(raw, chainId, expected)
  if (inclusion === null)
    throw refuse('it holds no proof that the block includes the transaction: ask a node of the chain instead')
  const { hash, transactionsRoot, number, time } = parsedHeader(inclusion.header)
  if (hash !== expected.blockHash.toLowerCase()) throw refuse('its header is that of another block')
  if (transactionByProof(transactionsRoot, inclusion.index, inclusion.proof) !== hexOf(raw))
    throw refuse('its block does not include the transaction')
  return { blockNumber: number, blockTime: time }
}

function checkTransaction(raw: Uint8Array, chainId: number, expected: ExpectedEvmAnchor): void {
  const transaction = parseTransaction(raw)
  if (transaction === undefined) throw refuse('its transaction is none of EIP-1559')
  const { hash, from, to, value, input } = transaction
  if (hash !== expected.txHash.toLowerCase()) throw refuse('its transaction has another hash')
  if (chainId !== expected.chainId || transaction.chainId !== BigInt(expected.chainId))
    throw refuse('its transaction is of another chain')
  if (from.toLowerCase() !== expected.account.toLowerCase()) throw refuse('its transaction is of another account')
  if (to !== from || value !== 0n) throw refuse('its transaction is not one of value 0 to its own sender')
  if (input !== hexOf(expected.checkpoint)) throw refuse('its transaction carries something else than the checkpoint')
}

interface Evidence {
  readonly chainId: number
  readonly raw: Uint8Array
  readonly inclusion: { readonly header: Uint8Array; readonly index: number; readonly proof: readonly string[] } | null
}

/** It may come from anybody. */
function parseEvidence(evidence: Uint8Array): Evidence {
  const value = parsedJson(evidence)
  if (!isObject(value) || value.v !== 1) throw refuse('it is none of version 1')
  const raw = bytesOf(value.raw)
  const { chainId, inclusion } = value
  if (raw === undefined || typeof chainId !== 'number') throw refuse('it is malformed')
  if (inclusion === null) return { chainId, raw, inclusion }
  if (!isObject(inclusion)) throw refuse('it is malformed')
  const { index, proof } = inclusion
  const header = bytesOf(inclusion.header)
  if (header === undefined || !isIndex(index) || !isProof(proof)) throw refuse('it is malformed')
  return { chainId, raw, inclusion: { header, index, proof } }
}

function parsedJson(bytes: Uint8Array): unknown {
  try {
    return parseStrictJson(decodeUtf8(bytes))
  } catch (cause) {
    throw refuse('it is no JSON', cause)
  }
}

function parsedHeader(bytes: Uint8Array): Header {
  try {
    return parseHeader(bytes)
  } catch (cause) {
    throw refuse('its header is malformed', cause)
  }
}

const bytesOf = (value: unknown): Uint8Array | undefined =>
  typeof value === 'string' && value.startsWith('0x') ? fromHex(value.slice(2)) : undefined
const isIndex = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0
const isProof = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((node) => bytesOf(node) !== undefined)

const refuse = (why: string, cause?: unknown): RegistryError =>
  new RegistryError('VERIFICATION_FAILED', `The anchor's evidence does not verify: ${why}`, { cause })
