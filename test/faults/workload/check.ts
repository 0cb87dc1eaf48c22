import { createHash } from 'node:crypto'
import { basename, join } from 'node:path'
import { ifExists } from '../../../adapters/files/index.ts'
import { isRegistryError, OPERATOR, systemClock, type Registry, type Scope } from '../../../core/index.ts'
import { filesOf } from '../../../core/ops/index.ts'
import { sweep } from '../../../core/store/blob-lifecycle.ts'
import { parsePolicy, verifyBundle, type Policy } from '../../../core/verify/index.ts'
import { checkRegistry, type Output } from '../../../server/commands/fsck.ts'
import { loadConfig, type Config } from '../../../server/settings/load.ts'
import { openFileBlobs } from '../../../server/startup/blobs.ts'
import { openLevel } from '../../../server/startup/records.ts'
import { openConfiguredRegistry } from '../../../server/startup/registry.ts'
import { silentLogger } from '../../support/silent-logger.ts'
import { filesBelow } from '../../support/temporary.ts'
import { COMPANY } from './http-writer.ts'
import { describeState, type EvidenceState, type EvidenceTrace } from './model.ts'

const SCOPE: Scope = { companyId: COMPANY, principal: OPERATOR }

/** Settings with which a data directory is checked: batches are sealed only by `sealNow`. */
export const checkConfig = (directory: string, readOnly = false): Config => {
  const env = { EVIDENCE_DATA_DIR: directory, EVIDENCE_SEAL_MAX_WAIT_MS: '3600000' }
  return loadConfig({ args: readOnly ? ['--read-only'] : [], env })
}

/**
 * Opens a data directory as the server does, after whatever happened to it, and checks that every acknowledged write is
 * there with its bytes and its proof, that each evidence is in a state that the load can have produced, and that fsck
 * finds no difference. Returns the problems, none of which may occur. Throws if the registry does not open.
 */
export async function problemsOf(directory: string, traces: readonly EvidenceTrace[]): Promise<readonly string[]> {
  const { registry } = await openConfiguredRegistry(checkConfig(directory), silentLogger)
  let problems: readonly string[]
  try {
    problems = await checkContents(registry, traces)
  } finally {
    await registry.close()
  }
  return [...problems, ...(await fsckReport(directory)), ...(await unusedBlobs(directory))]
}

/** Throws if `problemsOf` finds one. */
export async function checkDirectory(directory: string, traces: readonly EvidenceTrace[]): Promise<void> {
  const problems = await problemsOf(directory, traces)
  if (problems.length > 0) throw new Error(`${problems.length} problems: ${problems.slice(0, 5).join('; ')}`)
}

/**
 * Ends every upload and deletion that was interrupted, and returns the files in the blob store that no record uses
 * then. Its upload-intent record must have led to each file that an upload left, complete or torn.
 */
async function unusedBlobs(directory: string): Promise<readonly string[]> {
  const records = await openLevel(directory)
  const blobs = await openFileBlobs(directory)
  try {
    const stores = { records, blobs, clock: systemClock, logger: silentLogger }
    await sweep(stores, { before: Infinity, process: 'check' })
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
async function checkContents(registry: Registry, traces: readonly EvidenceTrace[]): Promise<readonly string[]> {
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
function mismatch(trace: EvidenceTrace, state: EvidenceState | undefined): string | undefined {
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
export async function fsckReport(directory: string): Promise<readonly string[]> {
  const reported: string[] = []
  const ignore = (): void => undefined
  const output: Output = {
    print: (text, json) => void ('difference' in json && reported.push(`fsck: ${text}`)),
    progress: ignore,
    advise: ignore,
  }
  try {
    await checkRegistry(checkConfig(directory), { skipFiles: false, repair: false }, output)
  } catch (error) {
    if (!isRegistryError(error)) throw error
    reported.push(`fsck: ${error.code}`)
  }
  return reported
}
