import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { join } from 'node:path'
import { concatBytes, encodeUtf8 } from '../../core/bytes.ts'
import { isRegistryError, RegistryError } from '../../core/errors.ts'
import {
  createFile,
  discardStaged,
  errnoOf,
  makeDirectory,
  replaceFile,
  type FileOperations,
} from '../files/durable.ts'
import { readOrCreateSecret, readSecret } from '../files/private-files.ts'
import { BlockFile, type Line } from './block-file.ts'
import { checkSignature, formatOpening, isJson, MAX_LINE_BYTES, openingOf, publicKeyBytes, signHash } from './block.ts'
import { LedgerChain } from './chain.ts'
import { TransactionIndex } from './transaction-index.ts'

/**
 * The ledger's files: `ledger.key` (0600, the 32 bytes of the Ed25519 private key), `ledger.pub` (PEM, for verifiers) and `blocks.jsonl`.
 * They are made in this order, each whole and durable before the next, so a first start that was cut short is finished by the next.
 */

/** PKCS #8 before the 32 bytes of an Ed25519 private key (RFC 8410 § 7). */
const PRIVATE_KEY_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
const KEY_BYTES = 32

export interface OpenedLedger {
  readonly file: BlockFile
  readonly key: KeyObject
  readonly chain: LedgerChain
  readonly index: TransactionIndex
  /** Bytes of an unfinished last line that were cut off, and are kept in `blocks.jsonl.cut`. */
  readonly mendedBytes: number
}

export interface OpeningTerms {
  readonly blockTimeMs: number
  /** ms since 1970. */
  readonly now: number
}

/** Opens the files, or makes them, and checks every line. Throws `CONFIG_ERROR` or `CORRUPT`, or what the file system throws. */
export async function openFiles(files: FileOperations, directory: string, terms: OpeningTerms): Promise<OpenedLedger> {
  await makeDirectory(files, directory)
  await discardStaged(files, directory)
  const path = join(directory, 'blocks.jsonl')
  const key = await openKey(files, directory, await exists(files, path))
  const publicKey = createPublicKey(key)
  const opening = openingOf(terms.now, terms.blockTimeMs, publicKeyBytes(publicKey))
  const first = formatOpening({ content: opening, signature: signHash(opening.hash, key) })
  if (!(await exists(files, path))) await createFile(files, path, concatBytes(first, encodeUtf8('\n')))
  const file = await BlockFile.open(files, path, MAX_LINE_BYTES, 'append')
  try {
    const chain = new LedgerChain(publicKey)
    const index = new TransactionIndex()
    const torn = await readLines(file, path, chain, index, publicKey)
    if (torn) {
      await replaceFile(files, `${path}.cut`, torn.bytes)
      await file.truncate(torn.offset)
    }
    return { file, key, chain, index, mendedBytes: torn?.bytes.length ?? 0 }
  } catch (error) {
    await file.close()
    throw error
  }
}

/**
 * Takes every line but a torn last one, which it answers. Hashes are checked for all, and the signature of the last, which
 * vouches for all before it: a signature costs as much time as some ten lines.
 */
async function readLines(
  file: BlockFile,
  path: string,
  chain: LedgerChain,
  index: TransactionIndex,
  publicKey: KeyObject,
): Promise<Line | undefined> {
  let lines = 0
  let last: Parameters<typeof checkSignature>[0] | undefined
  let torn: Line | undefined
  try {
    for await (const line of file.lines()) {
      const isLast = line.offset + line.bytes.length + 1 >= file.size
      if (lines > 0 && isLast && (!line.ended || !isJson(line.bytes))) {
        torn = line
        break
      }
      if (!line.ended) throw new RegistryError('CORRUPT', 'It has no end')
      if (lines === 0) chain.open(line.bytes)
      else {
        const block = chain.parse(line.bytes)
        for (const { hash } of block.content.transactions) index.add(hash, line.offset)
        last = block
      }
      lines += 1
    }
    if (last) checkSignature(last, publicKey)
    // Throws where there is no opening.
    void chain.opening
  } catch (error) {
    if (!isRegistryError(error)) throw error
    throw new RegistryError(
      'CORRUPT',
      `Line ${lines + 1} of ${path} is not what was written: restore the file from a backup. ${error.message}`,
      { cause: error },
    )
  }
  return torn
}

async function openKey(files: FileOperations, directory: string, hasBlocks: boolean): Promise<KeyObject> {
  const path = join(directory, 'ledger.key')
  // A ledger with another key would be another ledger: a key is made only where there are no blocks.
  const seed = await (hasBlocks ? readSecret(path, { files }) : readOrCreateSecret(path, { files }))
  if (seed.length !== KEY_BYTES)
    throw new RegistryError(
      'CORRUPT',
      `${path} has ${seed.length} bytes, a ledger key has ${KEY_BYTES}: restore it from a backup`,
    )
  const key = createPrivateKey({ key: Buffer.concat([PRIVATE_KEY_PREFIX, seed]), type: 'pkcs8', format: 'der' })
  const pem = encodeUtf8(createPublicKey(key).export({ type: 'spki', format: 'pem' }) as string)
  await createFile(files, join(directory, 'ledger.pub'), pem)
  return key
}

async function exists(files: FileOperations, path: string): Promise<boolean> {
  try {
    await files.stat(path)
    return true
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false
    throw error
  }
}
