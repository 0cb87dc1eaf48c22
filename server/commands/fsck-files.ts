import { createPublicKey, createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { verifyLedger } from '../../adapters/local-ledger/index.ts'
import type { Difference, SignedHead } from '../../core/index.ts'
import { headsIn } from '../startup/signed-heads.ts'
import { exists } from '../startup/existing.ts'

/** What is wrong with files beside the records. */
export interface FileCheck {
  readonly differences: readonly Difference[]
  /** The newest tree in the local ledger, as a list of at most one. */
  readonly knownHeads: readonly SignedHead[]
}

/**
 * Checks the local ledger and the embedded timestamp authority of a data directory, if they exist: every line of the
 * ledger with its hashes and signature, and that the authority's keys and certificates belong together. Only reads.
 */
export async function checkFiles(directory: string): Promise<FileCheck> {
  const ledger = await checkLedger(join(directory, 'ledger'))
  return { ...ledger, differences: [...ledger.differences, ...(await checkAuthority(join(directory, 'tsa')))] }
}

/** Checks every line of the ledger in this folder, if it exists. */
export async function checkLedger(directory: string): Promise<FileCheck> {
  if (!(await exists(directory))) return { differences: [], knownHeads: [] }
  try {
    const publicKey = createPublicKey(await readFile(join(directory, 'ledger.pub')))
    const { newestInput } = await verifyLedger(join(directory, 'blocks.jsonl'), publicKey)
    return { differences: [], knownHeads: headsIn(newestInput) }
  } catch (error) {
    return { differences: [difference('anchor', 'ledger', error)], knownHeads: [] }
  }
}

async function checkAuthority(directory: string): Promise<readonly Difference[]> {
  if (!(await exists(directory))) return []
  const read = (name: string): Promise<Buffer> => readFile(join(directory, name))
  try {
    const authority = new X509Certificate(await read('ca.pem'))
    const signerPem = await read('tsa.pem')
    const signer = new X509Certificate(signerPem)
    if (!authority.checkPrivateKey(createPrivateKey(await read('ca.key')))) throw new Error('ca.pem is not of ca.key')
    if (!signer.checkPrivateKey(createPrivateKey(signerPem)) || !signer.verify(authority.publicKey))
      throw new Error('tsa.pem is not a key with its certificate, issued by ca.pem')
    return []
  } catch (error) {
    return [difference('stamp', 'tsa', error)]
  }
}

const difference = (kind: Difference['kind'], key: string, error: unknown): Difference => ({
  kind,
  key,
  message: `It does not verify: ${error instanceof Error ? error.message : String(error)}`,
})
