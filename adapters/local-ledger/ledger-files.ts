import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { join } from 'node:path'
import { concatBytes, encodeUtf8, isRegistryError, RegistryError } from '../kit/index.ts'
import * as durable from '../files/durable.ts'
import { ifExists } from '../files/errors.ts'
import { readOrCreateSecret, readSecret } from '../files/private-files.ts'
import { formatOpening, isJson, type LedgerOpening } from '../../core/verify/chain/ledger-block.ts'
import { publicKeyBytes, signOpening } from './signing.ts'
import { readChain, type Chain } from './chain.ts'
import { LineFile, type Line } from './line-file.ts'
import { TransactionIndex } from './transaction-index.ts'

/** The bytes before the 32 bytes of an Ed25519 private key in PKCS #8 (RFC 8410 § 7). */
const PRIVATE_KEY_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
const KEY_BYTES = 32

export interface LedgerFiles {
  readonly file: LineFile
  readonly key: KeyObject
  readonly chain: Chain
  readonly index: TransactionIndex
  /** Size of an unfinished last line that was removed and kept in `blocks.jsonl.cut`; 0 if there was none. */
  readonly truncatedBytes: number
}

/**
 * Opens the ledger's files and checks every line. Creates the files at the first start, in this order, each whole and
 * durable before the next: `ledger.key` (0600, the 32 bytes of the Ed25519 private key), `ledger.pub` (PEM, for
 * verifiers) and `blocks.jsonl`. If a first start is interrupted, the next start completes it.
 * Throws `CONFIG_ERROR`, `CORRUPT`, or an error of the file system.
 */
export async function openLedgerFiles(
  files: durable.FileOperations,
  directory: string,
  terms: Pick<LedgerOpening, 'blockTimeMs' | 'genesis'>,
): Promise<LedgerFiles> {
  await durable.makeDirectory(files, directory)
  await durable.discardStaged(files, directory)
  const path = join(directory, 'blocks.jsonl')
  const isNew = !(await exists(files, path))
  const key = await openKey(files, directory, isNew)
  const publicKey = createPublicKey(key)
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
  await durable.createFile(files, join(directory, 'ledger.pub'), encodeUtf8(pem))
  const opening = signOpening({ ...terms, publicKey: publicKeyBytes(publicKey) }, key)
  if (isNew) await durable.createFile(files, path, concatBytes(formatOpening(opening), encodeUtf8('\n')))
  const file = await LineFile.open(files, path, 'append')
  const index = new TransactionIndex()
  const torn: Line[] = []
  try {
    const chain = await readChain(linesUntilTorn(file, torn), path, {
      publicKey,
      signatures: 'last',
      onBlock: ({ transactions }, offset) => transactions.forEach(({ hash }) => index.add(hash, offset)),
    }).catch(rethrowAsCorrupt)
    for (const { bytes, offset } of torn) {
      await durable.replaceFile(files, `${path}.cut`, bytes)
      await file.truncate(offset)
    }
    return { file, key, chain, index, truncatedBytes: torn[0]?.bytes.length ?? 0 }
  } catch (error) {
    await file.close()
    throw error
  }
}

/** All lines but a last one that a crash left unfinished, which goes to `torn`. The opening is written whole. */
async function* linesUntilTorn(file: LineFile, torn: Line[]): AsyncGenerator<Line> {
  for await (const line of file.lines()) {
    const isTorn = line.offset > 0 && file.isLast(line) && !(line.isComplete && isJson(line.bytes))
    if (isTorn) torn.push(line)
    else yield line
  }
}

/** For what does not verify in the ledger's own file. */
export function rethrowAsCorrupt(error: unknown): never {
  if (!isRegistryError(error)) throw error
  throw new RegistryError('CORRUPT', `${error.message}: restore blocks.jsonl from a backup`, { cause: error })
}

/** Creates a key only for a new ledger: blocks that exist were signed with the key that is missing. */
async function openKey(files: durable.FileOperations, directory: string, isNew: boolean): Promise<KeyObject> {
  const path = join(directory, 'ledger.key')
  const seed = await (isNew ? readOrCreateSecret(path, { files }) : readSecret(path, { files }))
  if (seed.length === KEY_BYTES)
    return createPrivateKey({ key: Buffer.concat([PRIVATE_KEY_PREFIX, seed]), type: 'pkcs8', format: 'der' })
  throw new RegistryError(
    'CORRUPT',
    `${path} must have ${KEY_BYTES} bytes, got ${seed.length}: restore it from a backup`,
  )
}

async function exists(files: durable.FileOperations, path: string): Promise<boolean> {
  return (await ifExists(files.stat(path))) !== undefined
}
