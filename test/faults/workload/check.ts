import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { FileSignedHead, ifExists, openCheckpointKeys } from '../../../adapters/files/index.ts'
import {
  filesOf,
  fsck,
  isRegistryError,
  OPERATOR,
  systemClock,
  type Difference,
  type Logger,
  type Registry,
  type Scope,
} from '../../../core/index.ts'
import { parsePolicy, verifyBundle, type Policy } from '../../../core/verify/index.ts'
import { createAttestationVerifier } from '../../../server/commands/attestations.ts'
import { checkFiles } from '../../../server/commands/fsck-files.ts'
import { loadConfig, type Config } from '../../../server/settings/load.ts'
import { openFileBlobs } from '../../../server/startup/blobs.ts'
import { openConfiguredRegistry } from '../../../server/startup/registry.ts'
import { openLevel } from '../../../server/startup/records.ts'
import { sweep } from '../../../core/store/blob-lifecycle.ts'
import { filesBelow } from '../../support/temporary.ts'
import { COMPANY } from './http-writer.ts'
import { describeState, type EvidenceState, type EvidenceTrace } from './model.ts'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }
const SCOPE: Scope = { companyId: COMPANY, principal: OPERATOR }

/** Settings with which a data directory is checked: batches are sealed only by `sealNow`. */
export const checkConfig = (directory: string): Config =>
  loadConfig({
    args: [],
    env: { EVIDENCE_DATA_DIR: directory, EVIDENCE_SEAL_MAX_WAIT_MS: '3600000' },
  })

/**
 * Opens a data directory as the server does, after whatever happened to it, and checks that every acknowledged write is
 * there with its bytes and its proof, that each evidence is in a state that the load can have produced, and that fsck
 * finds no difference. Returns the problems, none of which may occur. Throws if the registry does not open.
 */
export async function checkDirectory(directory: string, traces: readonly EvidenceTrace[]): Promise<readonly string[]> {
  const { registry } = await openConfiguredRegistry(checkConfig(directory), silent)
  let problems: readonly string[]
  try {
    problems = await checkRegistry(registry, traces)
  } finally {
    await registry.close()
  }
  return [...problems, ...(await fsckDirectory(directory)), ...(await unusedBlobs(directory))]
}

/**
 * Ends every upload and deletion that was interrupted, and returns the files in the blob store that no record uses
 * then. Its upload-intent record must have led to each file that an upload left, complete or torn.
 */
async function unusedBlobs(directory: string): Promise<readonly string[]> {
  const records = await openLevel(directory)
  const blobs = await openFileBlobs(directory)
  try {
    const stores = { records, blobs, clock: systemClock, logger: silent, opening: 'check' }
    await sweep(stores, { before: Infinity, isAlone: true })
    const used = new Set<string>()
    for await (const { id } of filesOf(records)) used.add(id)
    const unused = (await blobNames(directory)).filter((name) => !used.has(name))
    return unused.map((name) => `blob/${name}: no record uses it, and no upload intent names it`)
  } finally {
    await blobs.close()
    await records.close()
  }
}

/** The names of all files in the blob store of a data directory, complete or not. */
export async function blobNames(directory: string): Promise<readonly string[]> {
  const paths = await ifExists(filesBelow(join(directory, 'blobs', 'content')))
  return (paths ?? []).map((path) => basename(path))
}

/** Checks what an open registry holds. */
export async function checkRegistry(registry: Registry, traces: readonly EvidenceTrace[]): Promise<readonly string[]> {
  const problems: string[] = []
  await registry.sealNow()
  const policy = parsePolicy(JSON.stringify(await registry.log.policy()))
  for (const trace of traces) {
    const state = await readState(registry, trace.externalId).catch((error: unknown) => String(error))
    const problem = typeof state === 'string' ? state : mismatch(trace, state)
    if (problem !== undefined) problems.push(`${trace.externalId}: ${problem}`)
    else if (state !== undefined) problems.push(...(await checkProof(registry, policy, trace.externalId)))
  }
  return problems
}

/** What is wrong with a state, if anything is. */
export function mismatch(trace: EvidenceTrace, state: EvidenceState | undefined): string | undefined {
  const actual = describeState(state)
  const correct = trace.correctStates.map(describeState)
  if (correct.includes(actual)) return undefined
  return `lost or half-written: expected ${correct.join(' or ')}, got ${actual}`
}

/** Reads an evidence with the bytes of its files. */
async function readState(registry: Registry, externalId: string): Promise<EvidenceState | undefined> {
  try {
    const { evidence } = await registry.evidences.get(SCOPE, externalId)
    const files = new Map<string, string>()
    for (const { id, name } of (await registry.evidences.files(SCOPE, externalId)).evidence)
      files.set(name, await hashOfFile(registry, id))
    return { version: evidence.version, summary: evidence.summary ?? '', files }
  } catch (error) {
    if (isRegistryError(error, 'EVIDENCE_NOT_FOUND') || isRegistryError(error, 'COMPANY_NOT_FOUND')) return undefined
    throw error
  }
}

async function hashOfFile(registry: Registry, fileId: string): Promise<string> {
  const hash = createHash('sha256')
  const file = await registry.files.find(SCOPE, { fileId })
  for await (const chunk of await registry.files.read(file)) hash.update(chunk)
  return hash.digest('hex')
}

async function checkProof(registry: Registry, policy: Policy, externalId: string): Promise<readonly string[]> {
  const bundle = await registry.proofs.bundle(SCOPE, { externalId, fields: 'all', files: 'all' })
  // Without the tokens, which fsck verifies.
  const result = verifyBundle(JSON.stringify(bundle), { policy })
  if (result.state === 'proven') return []
  return [`${externalId}: its proof is ${result.state}${result.state === 'refuted' ? `: ${result.reason}` : ''}`]
}

/** Runs fsck on a data directory that is not in use. Returns its differences as texts. */
export async function fsckDirectory(directory: string): Promise<readonly string[]> {
  const config = checkConfig(directory)
  const { differences, ledgerHeads, stampedHeads } = await checkFiles(directory)
  const found: Difference[] = [...differences]
  const attestations = await createAttestationVerifier(config, directory, {
    ledgerHeads,
    stampedHeads,
    onUnknown: (authority) => void found.push({ kind: 'stamp', key: authority, message: 'The authority is unknown' }),
  })
  const signedHead = await new FileSignedHead(join(directory, 'signed-head.json')).read()
  const checkpointSigner = await openCheckpointKeys(join(directory, 'checkpoint-keys.json'))
  const secret = new Uint8Array(await readFile(join(directory, 'secret')))
  const records = await openLevel(directory)
  const blobs = await openFileBlobs(directory)
  try {
    const knownHeads = [...ledgerHeads, ...stampedHeads]
    const stores = { records, blobs, secret, checkpointSigner, knownHeads, attestations }
    await fsck(
      { ...stores, ...(signedHead && { signedHead }) },
      { onDifference: (difference) => void found.push(difference) },
    )
  } finally {
    await blobs.close()
    await records.close()
  }
  return found.map(({ kind, key, message }) => `fsck: ${kind}: ${key}: ${message}`)
}
