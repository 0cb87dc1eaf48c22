import { parseBlock } from '../../core/verify/chain/ledger-block.ts'
import { nodeFiles } from '../files/durable.ts'
import { concatBytes, encodeUtf8 } from '../kit/index.ts'
import { LineFile } from './line-file.ts'

const LINE_FEED = encodeUtf8('\n')

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
  const file = await LineFile.open(nodeFiles, path, 'read')
  try {
    for await (const { bytes, offset, isComplete } of file.lines()) {
      if (!isComplete) return
      if (offset > 0 && !parseBlock(bytes).transactions.every(({ input }) => isWanted(input))) return
      yield concatBytes(bytes, LINE_FEED)
    }
  } finally {
    await file.close()
  }
}
