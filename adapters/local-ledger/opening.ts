import { createPublicKey } from 'node:crypto'
import { constants } from 'node:fs'
import { join } from 'node:path'
import {
  BoundedMap,
  concatBytes,
  createNoteSigner,
  encodeUtf8,
  isRegistryError,
  RegistryError,
  type NoteSigner,
} from '../kit/index.ts'
import { createFile, discardStaged, makeDirectory, replaceFile, type FileOperations } from '../files/durable.ts'
import { ifExists } from '../files/errors.ts'
import { readOrCreateSecret, readSecret } from '../files/private-files.ts'
import {
  formatOpening,
  isJson,
  openingHash,
  signedBytes,
  type LedgerBlock,
  type LedgerOpening,
} from '../../core/verify/chain/ledger-block.ts'
import { readChain, type Chain } from './chain.ts'
import { LineFile, linesOf, type Line } from './file.ts'

/** Transactions whose block is known. The sealer asks for none that is older than the one anchor it waits for. */
const KNOWN_TRANSACTIONS = 128

/** A block and its line in the file. */
interface WrittenBlock {
  readonly block: LedgerBlock
  readonly line: Uint8Array
}

/** The opened files of a ledger. */
export interface LedgerFiles {
  readonly file: LineFile
  readonly signer: NoteSigner
  readonly chain: Chain
  /** The newest blocks, by the hash of their transaction. */
  readonly known: BoundedMap<string, WrittenBlock>
}

/**
 * Opens the ledger's files and checks every line. Creates the files at the first start, in this order, each whole and
 * durable before the next: `ledger.key` (0600, the 32 bytes of the Ed25519 private key), `ledger.pub` (PEM, for
 * verifiers) and `blocks.jsonl`. If a first start is interrupted, the next start completes it. Keeps an unfinished last
 * line that it removes in `blocks.jsonl.cut`.
 */
export async function openFiles(
  files: FileOperations,
  directory: string,
  terms: Pick<LedgerOpening, 'blockTimeMs' | 'genesis'>,
): Promise<LedgerFiles> {
  await makeDirectory(files, directory)
  await discardStaged(files, directory)
  const path = join(directory, 'blocks.jsonl')
  const isNew = (await ifExists(files.stat(path))) === undefined
  const signer = await openSigner(files, join(directory, 'ledger.key'), isNew)
  await createFile(files, join(directory, 'ledger.pub'), encodeUtf8(pemOf(signer.publicKey)))
  if (isNew) await createFile(files, path, concatBytes(openingLine(terms, signer), encodeUtf8('\n')))
  const handle = await files.open(path, constants.O_RDWR | constants.O_APPEND)
  const known = new BoundedMap<string, WrittenBlock>(KNOWN_TRANSACTIONS)
  const torn: Line[] = []
  try {
    const file = new LineFile(path, handle, (await handle.stat()).size)
    const chain = await readChain(linesUntilTorn(linesOf(handle), torn), path, {
      publicKey: signer.publicKey,
      signatures: 'last',
      onBlock: (block, line) => block.transactions.forEach(({ hash }) => known.set(hash, { block, line })),
    }).catch(rethrowAsCorrupt)
    for (const { bytes, offset } of torn) {
      await replaceFile(files, `${path}.cut`, bytes)
      await file.truncate(offset)
    }
    return { file, signer, chain, known }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** All lines but a last one that a crash left unfinished, which goes to `torn`. The opening is written whole. */
async function* linesUntilTorn(lines: AsyncIterable<Line>, torn: Line[]): AsyncGenerator<Line> {
  for await (const line of lines)
    if (line.offset > 0 && line.isLast && !(line.isComplete && isJson(line.bytes))) torn.push(line)
    else yield line
}

/** For what does not verify in the ledger's own file. */
function rethrowAsCorrupt(error: unknown): never {
  if (!isRegistryError(error)) throw error
  throw new RegistryError('CORRUPT', `${error.message}: restore blocks.jsonl from a backup`, { cause: error })
}

/** Creates a key only for a new ledger: blocks that exist were signed with the key that is missing. */
async function openSigner(files: FileOperations, path: string, isNew: boolean): Promise<NoteSigner> {
  const seed = await (isNew ? readOrCreateSecret(path, { files }) : readSecret(path, { files }))
  if (seed.length === 32) return createNoteSigner('ledger', seed)
  throw new RegistryError('CORRUPT', `${path} must have 32 bytes, got ${seed.length}: restore it from a backup`)
}

function pemOf(publicKey: Uint8Array): string {
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(publicKey).toString('base64url') }
  return createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' }).toString()
}

function openingLine(terms: Pick<LedgerOpening, 'blockTimeMs' | 'genesis'>, signer: NoteSigner): Uint8Array {
  const content = { ...terms, publicKey: signer.publicKey }
  const hash = openingHash(content)
  return formatOpening({ ...content, hash, signature: signer.sign(signedBytes(hash)) })
}
