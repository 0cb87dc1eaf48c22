import { createPublicKey, createPrivateKey, X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { verifyLedger } from '../../adapters/local-ledger/index.ts'
import { isKeyOf, readLastStamped } from '../../adapters/local-tsa/index.ts'
import type { SignedHead } from '../../core/index.ts'
import type { Difference } from '../../core/ops/index.ts'
import { headsIn } from '../startup/signed-heads.ts'

/** What a folder of the data directory says, and what is wrong with it. */
export interface FolderCheck {
  readonly differences: readonly Difference[]
  /** The newest tree that a file of the folder names, as a list of at most one. */
  readonly knownHeads: readonly SignedHead[]
}

/** `check`: checks the folder, and returns the newest checkpoint that it names. `what`: of a difference. */
async function checkFolder(
  directory: string,
  what: Pick<Difference, 'kind' | 'key'>,
  check: () => Promise<Uint8Array | undefined>,
): Promise<FolderCheck> {
  if (!existsSync(directory)) return { differences: [], knownHeads: [] }
  try {
    return { differences: [], knownHeads: headsIn(await check()) }
  } catch (error) {
    const message = `It does not verify: ${error instanceof Error ? error.message : String(error)}`
    return { differences: [{ ...what, message }], knownHeads: [] }
  }
}

/** Checks every line of the ledger in this folder, if it exists, with its hashes and signature. Only reads. */
export const checkLedger = (directory: string): Promise<FolderCheck> =>
  checkFolder(directory, { kind: 'anchor', key: 'ledger' }, async () => {
    const publicKey = createPublicKey(await readFile(join(directory, 'ledger.pub')))
    return (await verifyLedger(join(directory, 'blocks.jsonl'), publicKey)).newestInput
  })

/** Checks that the keys and certificates of the authority in this folder belong together, and its last stamp. */
export const checkAuthority = (directory: string): Promise<FolderCheck> =>
  checkFolder(directory, { kind: 'stamp', key: 'tsa' }, async () => {
    const read = (name: string): Promise<Buffer> => readFile(join(directory, name))
    const authority = new X509Certificate(await read('ca.pem'))
    const signerPem = await read('tsa.pem')
    const signer = new X509Certificate(signerPem)
    if (!isKeyOf(authority, createPrivateKey(await read('ca.key')))) throw new Error('ca.pem is not of ca.key')
    if (!authority.verify(authority.publicKey)) throw new Error('ca.pem is damaged: its signature does not verify')
    if (!isKeyOf(signer, createPrivateKey(signerPem)) || !signer.verify(authority.publicKey))
      throw new Error('tsa.pem is not a key with its certificate, issued by ca.pem')
    return readLastStamped(directory, authority.raw)
  })
