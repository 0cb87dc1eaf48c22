import type { KeyObject } from 'node:crypto'
import { isRegistryError, RegistryError } from '../../core/errors.ts'
import { nodeFiles } from '../files/durable.ts'
import { BlockFile, type Line } from './block-file.ts'
import { checkSignature, MAX_LINE_BYTES } from './block.ts'
import { LedgerChain } from './chain.ts'

export interface LedgerSummary {
  readonly blocks: number
  readonly transactions: number
  /** Of the last block, or of the opening where there is none. */
  readonly height: number
  readonly hash: string
}

/**
 * Verifies a whole ledger file (`blocks.jsonl`) against the operator's public key (`ledger.pub`): every line's form, hashes and signature,
 * and that each follows the one before. Holds one line at a time. Throws `VERIFICATION_FAILED` with the line's number, also for a
 * last line that has no end.
 */
export async function verifyLedger(path: string, publicKey: KeyObject): Promise<LedgerSummary> {
  const file = await BlockFile.open(nodeFiles, path, MAX_LINE_BYTES, 'read')
  const chain = new LedgerChain(publicKey)
  let lines = 0
  let transactions = 0
  const take = (line: Line): void => {
    if (!line.ended) throw new RegistryError('VERIFICATION_FAILED', 'It is cut short')
    if (lines === 0) return chain.open(line.bytes)
    const block = chain.parse(line.bytes)
    checkSignature(block, publicKey)
    transactions += block.content.transactions.length
  }
  try {
    for await (const line of file.lines()) {
      take(line)
      lines += 1
    }
    if (lines === 0) throw new RegistryError('VERIFICATION_FAILED', 'It is not there')
    return { blocks: chain.blocks, transactions, height: chain.last.height, hash: chain.last.hash }
  } catch (error) {
    if (!isRegistryError(error)) throw error
    throw new RegistryError('VERIFICATION_FAILED', `Line ${lines + 1} of ${path} does not verify. ${error.message}`, {
      cause: error,
    })
  } finally {
    await file.close()
  }
}
