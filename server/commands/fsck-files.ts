import { createPublicKey, createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { verifyLedger } from '../../adapters/local-ledger/index.ts'
import { readLastStamped } from '../../adapters/local-tsa/index.ts'
import type { SignedHead } from '../../core/index.ts'
import type { Difference } from '../../core/ops/index.ts'
import { headsIn } from '../startup/signed-heads.ts'
import { exists } from '../startup/existing.ts'

/** What files beside the records say, and what is wrong with them. */
export interface FileCheck {
  readonly differences: readonly Difference[]
  /** The newest tree in the local ledger, as a list of at most one. */
  readonly ledgerHeads: readonly SignedHead[]
  /** The tree that the embedded authority stamped last, as a list of at most one. */
  readonly stampedHeads: readonly SignedHead[]
}

/**
 * Checks the local ledger and the embedded timestamp authority of a data directory, if they exist: every line of the
 * ledger with its hashes and signature, the last stamp, and that the authority's keys and certificates belong together.
 * Only reads.
 */
export async function checkFiles(directory: string): Promise<FileCheck> {
  const ledger = await checkLedger(join(directory, 'ledger'))
  const authority = await checkAuthority(join(directory, 'tsa'))
  return {
    differences: [...ledger.differences, ...authority.differences],
    ledgerHeads: ledger.knownHeads,
    stampedHeads: authority.knownHeads,
  }
}

interface FolderCheck {
  readonly differences: readonly Difference[]
  /** The newest tree that a file of the folder names, as a list of at most one. */
  readonly knownHeads: readonly SignedHead[]
}

/** Checks every line of the ledger in this folder, if it exists. */
export async function checkLedger(directory: string): Promise<FolderCheck> {
  if (!(await exists(directory))) return { differences: [], knownHeads: [] }
  try {
    const publicKey = createPublicKey(await readFile(join(directory, 'ledger.pub')))
    const { newestInput } = await verifyLedger(join(directory, 'blocks.jsonl'), publicKey)
    return { differences: [], knownHeads: headsIn(newestInput) }
  } catch (error) {
    return { differences: [difference('anchor', 'ledger', error)], knownHeads: [] }
  }
}

/** Checks the keys, the certificates and the last stamp of the authority in this folder, if it exists. */
async function checkAuthority(directory: string): Promise<FolderCheck> {
  if (!(await exists(directory))) return { differences: [], knownHeads: [] }
  const read = (name: string): Promise<Buffer> => readFile(join(directory, name))
  try {
    const authority = new X509Certificate(await read('ca.pem'))
    const signerPem = await read('tsa.pem')
    const signer = new X509Certificate(signerPem)
    if (!authority.checkPrivateKey(createPrivateKey(await read('ca.key')))) throw new Error('ca.pem is not of ca.key')
    if (!authority.verify(authority.publicKey)) throw new Error('ca.pem is damaged: its signature does not verify')
    if (!signer.checkPrivateKey(createPrivateKey(signerPem)) || !signer.verify(authority.publicKey))
      throw new Error('tsa.pem is not a key with its certificate, issued by ca.pem')
    return { differences: [], knownHeads: headsIn(await readLastStamped(directory, authority.raw)) }
  } catch (error) {
    return { differences: [difference('stamp', 'tsa', error)], knownHeads: [] }
  }
}

const difference = (kind: Difference['kind'], key: string, error: unknown): Difference => ({
  kind,
  key,
  message: `It does not verify: ${error instanceof Error ? error.message : String(error)}`,
})
