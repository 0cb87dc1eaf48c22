import type { KeyObject } from 'node:crypto'
import { equalBytes, isRegistryError, RegistryError } from '../kit/index.ts'
import { nodeFiles } from '../files/durable.ts'
import {
  assertSigned,
  parseBlock,
  parseOpening,
  type LedgerBlock,
  type LedgerOpening,
} from '../../core/verify/chain/ledger-block.ts'
import { publicKeyBytes } from './signing.ts'
import { LineFile, type Line } from './line-file.ts'

/** A ledger as far as it was read. */
export interface Chain {
  readonly opening: LedgerOpening
  /** The last block; the opening, with height 0, if there are no blocks. */
  readonly tip: Pick<LedgerBlock, 'height' | 'time' | 'hash'>
  readonly blocks: number
  readonly transactions: number
  /** The input of the last transaction: the newest checkpoint. `undefined` if there is none. */
  readonly newestInput: Uint8Array | undefined
}

interface ReadOptions {
  readonly publicKey: KeyObject
  /**
   * `last` also detects every change, because a signature covers all lines before it. A check takes as long as ten
   * lines.
   */
  readonly signatures: 'every' | 'last'
  readonly onBlock?: (block: LedgerBlock, offset: number) => void
}

const verificationError = (reason: string, cause?: unknown): RegistryError =>
  new RegistryError('VERIFICATION_FAILED', reason, { cause })

/** Checks every line of a ledger. Throws `VERIFICATION_FAILED` that names the first line that is wrong. */
export async function readChain(lines: AsyncIterable<Line>, path: string, options: ReadOptions): Promise<Chain> {
  const { signatures, onBlock } = options
  const publicKey = publicKeyBytes(options.publicKey)
  let chain: Chain | undefined
  let last: LedgerBlock | undefined
  let lineNumber = 1
  try {
    for await (const { bytes, offset, isComplete } of lines) {
      if (!isComplete) throw verificationError('The line is cut short')
      if (chain === undefined) chain = startChain(parseOpening(bytes), publicKey)
      else {
        last = parseBlock(bytes)
        chain = extendChain(chain, last)
        if (signatures === 'every') assertSigned(last, publicKey)
        onBlock?.(last, offset)
      }
      lineNumber += 1
    }
    if (chain === undefined) throw verificationError('The ledger has no opening line')
    lineNumber -= 1
    if (last !== undefined) assertSigned(last, publicKey)
    return chain
  } catch (error) {
    if (!isRegistryError(error)) throw error
    throw verificationError(`Line ${lineNumber} of ${path} does not verify. ${error.message}`, error)
  }
}

function startChain(opening: LedgerOpening, publicKey: Uint8Array): Chain {
  assertSigned(opening, publicKey)
  if (!equalBytes(opening.publicKey, publicKey)) throw verificationError('The ledger names another public key')
  const { genesis: time, hash } = opening
  return { opening, tip: { height: 0, time, hash }, blocks: 0, transactions: 0, newestInput: undefined }
}

function extendChain({ opening, tip, blocks, transactions, newestInput }: Chain, block: LedgerBlock): Chain {
  const follows = { hash: block.previous === tip.hash, height: block.height > tip.height, time: block.time >= tip.time }
  for (const [name, isRight] of Object.entries(follows))
    if (!isRight) throw verificationError(`The block's ${name} does not follow that of the line before it`)
  return {
    opening,
    tip: block,
    blocks: blocks + 1,
    transactions: transactions + block.transactions.length,
    newestInput: block.transactions.at(-1)?.input ?? newestInput,
  }
}

/** What `verifyLedger` counted. */
export interface LedgerSummary {
  readonly blocks: number
  readonly transactions: number
  /** Height of the last block; 0 if there are no blocks. */
  readonly height: number
  /** Hash of the last block, or of the opening if there are no blocks. 64 lowercase hex digits. */
  readonly hash: string
  /** The input of the last transaction: the newest checkpoint. `undefined` if there is none. */
  readonly newestInput: Uint8Array | undefined
}

/**
 * Verifies a whole ledger file: the form, hashes and signature of every line, and that each line follows the one
 * before. Keeps one line in memory at a time.
 *
 * @param path the file `blocks.jsonl`
 * @param publicKey the operator's Ed25519 key, as in `ledger.pub`
 * @returns number of blocks and transactions, height and hash of the last block
 * @throws `VERIFICATION_FAILED` with the number of the line, also for a last line that is cut short
 * @example
 * ```ts
 * const publicKey = createPublicKey(await readFile('data/ledger/ledger.pub'))
 * const { blocks, hash } = await verifyLedger('data/ledger/blocks.jsonl', publicKey)
 * ```
 */
export async function verifyLedger(path: string, publicKey: KeyObject): Promise<LedgerSummary> {
  const file = await LineFile.open(nodeFiles, path, 'read')
  try {
    const chain = await readChain(file.lines(), path, { publicKey, signatures: 'every' })
    const { blocks, transactions, tip, newestInput } = chain
    return { blocks, transactions, height: tip.height, hash: tip.hash, newestInput }
  } finally {
    await file.close()
  }
}

/**
 * Verifies one block's line alone: form, transaction hashes, block hash and signature. Use it for the `proof` of a
 * confirmed anchor. `verifyLedger` also checks that the block is linked to the others.
 *
 * @param line the line's bytes without the line feed
 * @param publicKey the operator's Ed25519 key, as in `ledger.pub`
 * @returns the block
 * @throws `VERIFICATION_FAILED` with the reason
 * @example
 * const { transactions } = verifyLedgerBlock(status.proof, createPublicKey(await readFile('data/ledger/ledger.pub')))
 */
export function verifyLedgerBlock(line: Uint8Array, publicKey: KeyObject): LedgerBlock {
  const block = parseBlock(line)
  assertSigned(block, publicKeyBytes(publicKey))
  return block
}
