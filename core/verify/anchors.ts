import { encodeUtf8, equalBytes, fromHex, toHex } from '../bytes.ts'
import { verificationError } from '../errors.ts'
import { verifyEvmAnchor } from './chain/evm-anchor.ts'
import { assertSigned, parseBlock } from './chain/ledger-block.ts'
import { countsFor, type Verification, type VerifiedTree } from './checkpoint.ts'
import { broken, type BundleAnchorClaim, type Unchecked } from './claims.ts'
import type { PinnedChain, Policy } from './policy.ts'
import type { ShownAnchor } from './shown.ts'
import { isObject, parseUntrustedJson } from './untrusted.ts'

/** What chains attest of a tree. */

/** A transaction's sender is recovered from its signature in JavaScript, in Node as well. */
const ANCHOR_COST = 8

/** What anchors are verified with. */
export interface AnchorContext {
  readonly policy: Policy
  readonly run: Verification
  readonly isBlockOnChain?: (anchor: Omit<ShownAnchor, 'proof'>) => boolean | undefined
}

/** The claim of an anchor that holds. */
export function anchorOf(
  anchor: ShownAnchor,
  { noteBytes, size }: VerifiedTree,
  { policy, run: { budget, doubt }, isBlockOnChain }: AnchorContext,
): readonly BundleAnchorClaim[] {
  const { proof: _, ...shown } = anchor
  const { type, network, chainId, blockNumber, blockHash } = anchor
  const what = `the anchor in block ${blockNumber} of ${network.slice(0, 64)}`
  const isOfChain = (one: PinnedChain): boolean =>
    one.type === type && one.network === network && one.chainId === chainId && countsFor(size, one.ranges)
  let doubted: Unchecked = { what, why: 'No account of this chain is pinned' }
  for (const chain of (policy.chains ?? []).filter(isOfChain))
    try {
      budget.spend(ANCHOR_COST)
      const key = ['anchor', chain.account, toHex(noteBytes), ...Object.values(anchor)]
      const verified = budget.onceForAll(key, () => verifyAnchorProof(anchor, chain, noteBytes))
      if (typeof verified === 'string') throw verificationError('anchor.malformed', verified)
      const isOnChain = verified.isBlockFinal || isBlockOnChain?.(shown)
      if (isOnChain === false)
        throw verificationError('anchor.not-on-chain', `The block ${blockHash} is not part of the chain ${network}`)
      const isBlockFinal = isOnChain === true
      if (!isBlockFinal) doubt({ what, why: `Ask a node whether the block ${blockHash} is part of the chain` })
      const isLocalTest = shown.type === 'local'
      return [{ ...shown, account: chain.account, isLocalTest, blockTime: verified.blockTime, isBlockFinal }]
    } catch (error) {
      doubted = broken(what, error)
    }
  doubt(doubted)
  return []
}

/** What an anchor's own proof shows, offline. */
export interface VerifiedAnchor {
  /** ms since 1970: the time that the block states. */
  readonly blockTime: number
  /**
   * Whether the proof itself shows that the block belongs to the chain. False for `evm`: anyone can make a header, so a
   * node must be asked.
   */
  readonly isBlockFinal: boolean
}

/** A proof of the EVM has some 10 KB, one of the ledger up to 23 KB. A longer one would only cost time. */
const MAX_PROOF_LENGTH = 131_072
const CHAIN_HASH = /^0x[0-9a-f]{64}$/

/**
 * Verifies that an account put a checkpoint into a block, with the proof that the chain's adapter made.
 *
 * @param noteBytes The note with the log's signature alone.
 * @returns A text if this kind of proof cannot be checked, with the reason.
 * @throws `VERIFICATION_FAILED`
 */
export function verifyAnchorProof(
  anchor: ShownAnchor,
  { account }: PinnedChain,
  noteBytes: Uint8Array,
): VerifiedAnchor | string {
  if (anchor.proof.length > MAX_PROOF_LENGTH) return `Its proof has more than ${MAX_PROOF_LENGTH} characters`
  if (anchor.type === 'local') return verifyLedgerAnchor(anchor, account, noteBytes)
  if (anchor.type !== 'evm') return `Proofs of the type ${anchor.type.slice(0, 32)} are not known`
  const { chainId, txHash, blockHash, blockNumber, proof } = anchor
  // One spelling only: the claims show both as the bundle has them.
  if (!CHAIN_HASH.test(txHash) || !CHAIN_HASH.test(blockHash))
    throw verificationError('anchor.malformed', 'txHash and blockHash must be 0x and 64 lowercase hex digits')
  const value = parseUntrustedJson(proof, "The anchor's proof")
  if (isObject(value) && value['inclusion'] === null)
    return 'The proof does not show that the block includes the transaction: ask a node of the chain'
  const expected = { chainId, account, checkpoint: noteBytes, txHash, blockHash }
  const verified = verifyEvmAnchor(encodeUtf8(proof), expected)
  if (verified.blockNumber !== blockNumber) throw otherBlock()
  return { blockTime: verified.blockTime, isBlockFinal: false }
}

const otherBlock = (): Error =>
  verificationError('anchor.block-differs', "blockHash or blockNumber is not that of the anchor's block")

function verifyLedgerAnchor(
  { proof, txHash, blockHash, blockNumber }: ShownAnchor,
  account: string,
  noteBytes: Uint8Array,
): VerifiedAnchor {
  const publicKey = fromHex(account)
  if (publicKey === undefined)
    throw verificationError('anchor.account-differs', 'The pinned account of a local ledger must be a key in hex')
  const block = parseBlock(encodeUtf8(proof))
  assertSigned(block, publicKey)
  if (block.hash !== blockHash || block.height !== blockNumber) throw otherBlock()
  const transaction = block.transactions.find(({ hash }) => hash === txHash)
  if (transaction === undefined)
    throw verificationError('anchor.not-in-block', 'The block does not hold the transaction')
  if (!equalBytes(transaction.input, noteBytes))
    throw verificationError('anchor.checkpoint-differs', 'The transaction holds another checkpoint')
  return { blockTime: block.time, isBlockFinal: true }
}
