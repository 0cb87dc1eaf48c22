import { decodeUtf8, fromHex } from '../../bytes.ts'
import { parseStrictJson } from '../../commitment/strict-json.ts'
import { verificationError, type RegistryError } from '../../errors.ts'
import type { VerificationRule } from '../../rules.ts'
import { isObject } from '../untrusted.ts'
import { parseHeader, type BlockHeader } from './header.ts'
import { hexOf } from './rlp.ts'
import { parseTransaction, senderOf } from './transaction.ts'
import { transactionByProof } from './trie.ts'

/** What an anchor must be, from the registry's response and from what the verifier knows about the registry. */
export interface ExpectedEvmAnchor {
  readonly chainId: number
  /** The registry's account, `0x` hex in upper or lower case. */
  readonly account: string
  /** The checkpoint's whole signed note, in UTF-8. */
  readonly checkpoint: Uint8Array
  /** `0x` and 64 hex digits, as the registry returns it. */
  readonly txHash: string
  /** `0x` and 64 hex digits, as the registry returns it. */
  readonly blockHash: string
}

/** Where the proof places the transaction. */
export interface VerifiedEvmAnchor {
  readonly blockNumber: number
  /** The block's own time, ms since 1970. */
  readonly blockTime: number
}

/**
 * Verifies the stored proof of an EVM anchor, offline and without the package `ethers`. Checks that the raw transaction
 * has the hash `txHash`, is for this chain, is signed by the account, pays nothing to the account itself, and carries
 * the checkpoint; and that it is included under the transactionsRoot of a header with the hash `blockHash`. The caller
 * must still ask any node or explorer whether `blockHash` is a block of the chain.
 *
 * @param proof the `proof` of a confirmed anchor
 * @param expected chain, account, checkpoint and hashes
 * @returns number and time of the block, as its header states them
 * @throws `VERIFICATION_FAILED` with the first check that failed, also if the proof holds no inclusion
 * @example
 * const { blockTime } = verifyEvmAnchor(proof, { chainId, account, checkpoint, txHash, blockHash })
 */
export function verifyEvmAnchor(proof: Uint8Array, expected: ExpectedEvmAnchor): VerifiedEvmAnchor {
  const { chainId, raw, inclusion } = parseProof(proof)
  assertTransaction(raw, chainId, expected)
  if (inclusion === null) throw proofError('anchor.not-in-block', 'it does not show the block: ask a node instead')
  const { hash, transactionsRoot, number, time } = decodeHeader(inclusion.header)
  if (hash !== expected.blockHash.toLowerCase())
    throw proofError('anchor.block-differs', 'its header is that of another block')
  if (transactionByProof(transactionsRoot, inclusion.index, inclusion.proof) !== hexOf(raw))
    throw proofError('anchor.not-in-block', 'its block does not include the transaction')
  return { blockNumber: number, blockTime: time }
}

function assertTransaction(raw: Uint8Array, chainId: number, expected: ExpectedEvmAnchor): void {
  const transaction = parseTransaction(raw)
  if (transaction === undefined) throw proofError('anchor.malformed', 'its transaction is not one of EIP-1559')
  const { hash, to, value, input } = transaction
  if (hash !== expected.txHash.toLowerCase())
    throw proofError('anchor.transaction-differs', 'its transaction has another hash')
  if (chainId !== expected.chainId || transaction.chainId !== BigInt(expected.chainId))
    throw proofError('anchor.chain-differs', 'its transaction is for another chain')
  const sender = senderOf(transaction)
  if (sender !== expected.account.toLowerCase())
    throw proofError('anchor.account-differs', 'its transaction is signed by another account')
  if (to !== sender || value !== 0n)
    throw proofError('anchor.transaction-differs', 'its transaction must pay 0 to its own sender')
  if (input !== hexOf(expected.checkpoint))
    throw proofError('anchor.checkpoint-differs', 'its transaction does not carry the checkpoint')
}

interface InclusionProof {
  readonly chainId: number
  readonly raw: Uint8Array
  readonly inclusion: { readonly header: Uint8Array; readonly index: number; readonly proof: readonly string[] } | null
}

/** An attacker may control the bytes. */
function parseProof(bytes: Uint8Array): InclusionProof {
  const value = parseJson(bytes)
  if (!isObject(value) || value.v !== 1) throw proofError('anchor.malformed', 'it is not of version 1')
  const raw = bytesOf(value.raw)
  const { chainId, inclusion } = value
  if (raw === undefined || typeof chainId !== 'number') throw proofError('anchor.malformed', 'it is malformed')
  if (inclusion === null) return { chainId, raw, inclusion }
  if (!isObject(inclusion)) throw proofError('anchor.malformed', 'it is malformed')
  const { index, proof } = inclusion
  const header = bytesOf(inclusion.header)
  if (header === undefined || !isIndex(index) || !isHexList(proof))
    throw proofError('anchor.malformed', 'it is malformed')
  return { chainId, raw, inclusion: { header, index, proof } }
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return parseStrictJson(decodeUtf8(bytes))
  } catch (cause) {
    throw proofError('anchor.malformed', 'it is not JSON', cause)
  }
}

function decodeHeader(bytes: Uint8Array): BlockHeader {
  try {
    return parseHeader(bytes)
  } catch (cause) {
    throw proofError('anchor.malformed', 'its header is malformed', cause)
  }
}

const bytesOf = (value: unknown): Uint8Array | undefined =>
  typeof value === 'string' && value.startsWith('0x') ? fromHex(value.slice(2)) : undefined
const isIndex = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
const isHexList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((node) => bytesOf(node) !== undefined)

const proofError = (rule: VerificationRule, reason: string, cause?: unknown): RegistryError =>
  verificationError(rule, `The anchor's inclusion proof does not verify: ${reason}`, cause)
