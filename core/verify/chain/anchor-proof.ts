import { encodeUtf8, equalBytes, fromHex } from '../../bytes.ts'
import type { ShownAnchor } from '../bundle-document.ts'
import type { PinnedChain } from '../policy.ts'
import { verificationError } from '../../errors.ts'
import { isObject, parseUntrustedJson } from '../untrusted.ts'
import { verifyEvmAnchor } from './evm-anchor.ts'
import { assertSigned, parseBlock } from './ledger-block.ts'

const CHAIN_HASH = /^0x[0-9a-f]{64}$/

/** What an anchor's own proof shows, offline. */
export interface ProvenAnchor {
  /** ms since 1970: the time that the block states. */
  readonly blockTime: number
  /**
   * Whether the proof itself shows that the block belongs to the chain. False for `evm`: anyone can make a header, so a
   * node must be asked.
   */
  readonly isBlockFinal: boolean
}

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
): ProvenAnchor | string {
  if (anchor.type === 'local') return verifyLedgerAnchor(anchor, account, noteBytes)
  if (anchor.type !== 'evm') return `Proofs of the type ${anchor.type.slice(0, 32)} are not known`
  const { chainId, txHash, blockHash, blockNumber } = anchor
  // One spelling only: the claims show both as the bundle has them.
  if (!CHAIN_HASH.test(txHash) || !CHAIN_HASH.test(blockHash))
    throw verificationError('txHash and blockHash of an anchor must be 0x and 64 lowercase hex digits')
  const proof = parseUntrustedJson(anchor.proof, "The anchor's proof")
  if (isObject(proof) && proof['inclusion'] === null)
    return 'The proof does not show that the block includes the transaction: ask a node of the chain'
  const proven = verifyEvmAnchor(encodeUtf8(anchor.proof), {
    chainId,
    account,
    checkpoint: noteBytes,
    txHash,
    blockHash,
  })
  if (proven.blockNumber !== blockNumber) throw verificationError("blockNumber is not that of the anchor's block")
  return { blockTime: proven.blockTime, isBlockFinal: false }
}

function verifyLedgerAnchor(
  { proof, txHash, blockHash, blockNumber }: ShownAnchor,
  account: string,
  noteBytes: Uint8Array,
): ProvenAnchor {
  const publicKey = fromHex(account)
  if (publicKey === undefined) throw verificationError('The pinned account of a local ledger must be a key in hex')
  const block = parseBlock(encodeUtf8(proof))
  assertSigned(block, publicKey)
  if (block.hash !== blockHash || block.height !== blockNumber)
    throw verificationError("blockHash or blockNumber is not that of the anchor's block")
  const transaction = block.transactions.find(({ hash }) => hash === txHash)
  if (transaction === undefined) throw verificationError('The block does not hold the transaction')
  if (!equalBytes(transaction.input, noteBytes)) throw verificationError('The transaction holds another checkpoint')
  return { blockTime: block.time, isBlockFinal: true }
}
