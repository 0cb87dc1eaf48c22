import type { KeyObject } from 'node:crypto'
import { concatBytes, encodeUtf8, equalBytes, isRegistryError, verificationError } from '../kit/index.ts'
import {
  assertSigned,
  parseBlock,
  parseLedgerOpening,
  type LedgerBlock,
  type LedgerOpening,
} from '../../core/verify/chain/ledger-block.ts'
import { linesOfFile, type Line } from './file.ts'

/** What a ledger holds, as far as it was read. */
export interface Chain {
  readonly opening: LedgerOpening
  readonly blocks: number
  /** The last block; the opening, with height 0, if there are no blocks. */
  readonly tip: Pick<LedgerBlock, 'height' | 'time' | 'hash'>
  /** The input of the last transaction: the newest checkpoint. `undefined` if there is none. */
  readonly newestInput: Uint8Array | undefined
}

interface ReadOptions {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /**
   * `last` also detects every change, because a signature covers all lines before it. A check takes as long as ten
   * lines.
   */
  readonly signatures: 'every' | 'last'
  readonly onBlock?: (block: LedgerBlock, line: Uint8Array) => void
}

/** Checks every line of a ledger. Throws `VERIFICATION_FAILED` that names the first line that is wrong. */
export async function readChain(
  lines: AsyncIterable<Line>,
  path: string,
  { publicKey, signatures, onBlock }: ReadOptions,
): Promise<Chain> {
  let chain: Chain | undefined
  let last: LedgerBlock | undefined
  let lineNumber = 1
  try {
    for await (const { bytes, isComplete } of lines) {
      if (!isComplete) throw verificationError('ledger.order', 'The line is cut short')
      if (chain === undefined) chain = startChain(parseLedgerOpening(bytes), publicKey)
      else {
        last = parseBlock(bytes)
        chain = extendChain(chain, last)
        if (signatures === 'every') assertSigned(last, publicKey)
        onBlock?.(last, bytes)
      }
      lineNumber += 1
    }
    if (chain === undefined) throw verificationError('ledger.order', 'The ledger has no opening line')
    lineNumber -= 1
    if (last !== undefined) assertSigned(last, publicKey)
    return chain
  } catch (error) {
    if (!isRegistryError(error)) throw error
    throw verificationError(
      error.rule ?? 'ledger.order',
      `Line ${lineNumber} of ${path} does not verify. ${error.message}`,
      error,
    )
  }
}

function startChain(opening: LedgerOpening, publicKey: Uint8Array): Chain {
  assertSigned(opening, publicKey)
  if (!equalBytes(opening.publicKey, publicKey))
    throw verificationError('ledger.order', 'The ledger names another public key')
  const { genesis: time, hash } = opening
  return { opening, blocks: 0, tip: { height: 0, time, hash }, newestInput: undefined }
}

function extendChain({ opening, blocks, tip }: Chain, block: LedgerBlock): Chain {
  const follows = { hash: block.previous === tip.hash, height: block.height > tip.height, time: block.time >= tip.time }
  for (const [name, isRight] of Object.entries(follows))
    if (!isRight)
      throw verificationError('ledger.order', `The block's ${name} does not follow that of the line before it`)
  return { opening, blocks: blocks + 1, tip: block, newestInput: block.transactions.at(-1)?.input }
}

/**
 * Verifies a whole ledger file: the form, hashes and signature of every line, and that each line follows the one
 * before. Keeps one line in memory at a time.
 *
 * @param path the file `blocks.jsonl`
 * @param publicKey the operator's Ed25519 key, as in `ledger.pub`
 * @returns its opening, the number of blocks, the last block and the newest checkpoint
 * @throws `VERIFICATION_FAILED` with the number of the line, also for a last line that is cut short
 * @example
 * ```ts
 * const publicKey = createPublicKey(await readFile('data/ledger/ledger.pub'))
 * const { blocks, tip } = await verifyLedger('data/ledger/blocks.jsonl', publicKey)
 * ```
 */
export async function verifyLedger(path: string, publicKey: KeyObject): Promise<Chain> {
  // The key is the end of its DER (RFC 8410 § 4). A key of another kind is not the one that the opening names.
  const raw = new Uint8Array(publicKey.export({ type: 'spki', format: 'der' })).slice(-32)
  return readChain(linesOfFile(path), path, { publicKey: raw, signatures: 'every' })
}

/**
 * Yields the lines of a ledger, each with its line feed, up to the first block with a transaction that is not wanted.
 * Leaves an unfinished last line out, so the ledger may be in use.
 *
 * @param path the file `blocks.jsonl`
 * @param isWanted decides by the input of a transaction, for example by the size of the checkpoint that it anchors
 * @throws `VERIFICATION_FAILED` if a line is not a block
 */
export async function* ledgerPrefix(
  path: string,
  isWanted: (input: Uint8Array) => boolean,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const { bytes, offset, isComplete } of linesOfFile(path)) {
    if (!isComplete) return
    if (offset > 0 && !parseBlock(bytes).transactions.every(({ input }) => isWanted(input))) return
    yield concatBytes(bytes, encodeUtf8('\n'))
  }
}
