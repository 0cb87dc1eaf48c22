import { join, resolve } from 'node:path'
import { FileSignedHead, openCheckpointKeys, readSecret } from '../../adapters/files/index.ts'
import {
  fsck,
  isRegistryError,
  planRepair,
  repairRecords,
  storedOrigin,
  type CheckpointSigner,
  type Difference,
  type FsckProgress,
  type FsckReport,
  type FsckStores,
  type RecordStore,
} from '../../core/index.ts'
import type { Config } from '../settings/load.ts'
import { openBlobs } from '../startup/blobs.ts'
import { keyringPath } from '../startup/checkpoint-keys.ts'
import { OpenParts } from '../startup/open-parts.ts'
import { markedFolders } from '../startup/registry.ts'
import { assertOneRegistry, readMarkers, type FolderMarkers } from '../startup/folder-markers.ts'
import { openRecords } from '../startup/records.ts'
import { createAttestationVerifier } from './attestations.ts'
import { CHECKPOINT_KEYS, DATA_DIR, defineCommand, SECRET_FILE } from './command.ts'
import { assertHasRecords, exists } from '../startup/existing.ts'
import { checkFiles } from './fsck-files.ts'
import { ProgressLine } from './progress-line.ts'

const flags = {
  'data-dir': DATA_DIR,
  'secret-file': SECRET_FILE,
  'checkpoint-keys': CHECKPOINT_KEYS,
  'skip-files': { doc: 'do not read the stored files' },
  repair: { doc: 'rebuild indexes, counters and tiles, if everything that they follow from verifies' },
  json: { doc: 'print a line of JSON for each difference, and one for the result' },
} as const

export const fsckCommand = defineCommand({
  name: 'fsck',
  usage: ['[--data-dir DIR] [--secret-file FILE] [--checkpoint-keys FILE] [--skip-files] [--repair] [--json]'],
  description: `
Checks a registry. Computes every txId, leaf, tile, root, signature and index again from the records, verifies the tokens
of stamps and the proofs of anchors, checks the local ledger, the last stamp and the keys of the embedded authority, reads every stored
file, and prints one line for each difference. Stop the server first.

The records are where EVIDENCE_RECORDS and EVIDENCE_POSTGRES_URL say, the files where EVIDENCE_BLOBS and EVIDENCE_S3_...
say, as for the server. --repair first prints each record that it will write or delete, then writes, then checks again.
Tokens of other authorities need EVIDENCE_TSA_CA.`,
  flags,
  success: 'no differences',
  async run({ 'skip-files': skipFiles = false, repair = false, json = false }, config) {
    const output = json ? new JsonOutput() : new TextOutput()
    const { differences } = await checkRegistry(config, { skipFiles, repair }, output)
    return differences
  },
})

/** How differences and the result are printed. */
export interface Output {
  difference(difference: Difference): void
  progress(progress: FsckProgress): void
  result(report: FsckReport): void
  repair(action: 'write' | 'delete', key: string): void
  note(text: string): void
  /** What to do, after the result. For people only. */
  advice(text: string): void
}

class TextOutput implements Output {
  readonly #line = new ProgressLine()

  difference({ kind, key, message }: Difference): void {
    this.#line.print(`${kind}: ${key}: ${message}`)
  }

  progress({ stage, done }: FsckProgress): void {
    this.#line.show(`${stage}: ${done}`)
  }

  result({ differences, done }: FsckReport): void {
    const { log, evidences, indexes, blobs } = done
    const verdict =
      differences === 0 ? 'nothing differs' : differences === 1 ? '1 difference' : `${differences} differences`
    this.#line.print(
      `${log} log entries, ${evidences} events, ${indexes} index records and ${blobs} files checked: ${verdict}`,
    )
  }

  repair(action: 'write' | 'delete', key: string): void {
    this.#line.print(`repair: ${action} ${key}`)
  }

  note(text: string): void {
    this.#line.print(text)
  }

  advice(text: string): void {
    this.#line.print(text)
  }
}

class JsonOutput implements Output {
  difference({ kind, key, message }: Difference): void {
    process.stdout.write(`${JSON.stringify({ difference: { kind, key, message } })}\n`)
  }

  progress(): void {
    // Only the result is of interest to a program.
  }

  result({ differences, done }: FsckReport): void {
    process.stdout.write(`${JSON.stringify({ result: { differences, checked: done } })}\n`)
  }

  repair(action: 'write' | 'delete', key: string): void {
    process.stdout.write(`${JSON.stringify({ repair: { action, key } })}\n`)
  }

  note(text: string): void {
    process.stdout.write(`${JSON.stringify({ note: text })}\n`)
  }

  advice(): void {
    // A program reads the kind of each difference.
  }
}

interface CheckOptions {
  readonly skipFiles: boolean
  readonly repair: boolean
}

/** What the command does. Throws if a store cannot be opened. */
export async function checkRegistry(
  config: Config,
  { skipFiles, repair }: CheckOptions,
  output: Output,
): Promise<FsckReport> {
  const directory = resolve(config.dataDir)
  if (config.records === 'level') await assertHasRecords(directory)
  // A folder that is lost must not be made again by opening it.
  const markers = await readMarkers(directory, markedFolders(config))
  const secret = await readSecretOf(config, directory)
  const signedHead = await new FileSignedHead(join(directory, 'signed-head.json')).read()
  const { differences, ledgerHeads, stampedHeads } = await checkFiles(directory)
  const attestations = await createAttestationVerifier(config, directory, { ledgerHeads, stampedHeads, onUnknown })
  const knownHeads = [...ledgerHeads, ...stampedHeads]
  const parts = new OpenParts()
  try {
    const { records } = await parts.add(openRecords(config), (opened) => opened.records)
    const { checkpointSigner, missing } = await readKeyring(config)
    const blobs = skipFiles ? undefined : await parts.add(openBlobs(config, directory))
    const isHeadMissing = signedHead === undefined && (await records.logSize()) > 0
    const stores = { records, knownHeads, attestations, ...(blobs && { blobs }), ...(signedHead && { signedHead }) }
    const foreign = await foreignFolders(markers, records)
    const before = [...foreign, ...differences, ...(isHeadMissing ? [MISSING_HEAD] : [])]
    const keys = { ...(secret && { secret }), ...(checkpointSigner && { checkpointSigner }) }
    const checked = { ...stores, ...keys }
    let report = await run(checked, before, output)
    for (let round = 0; repair && round < MAX_REPAIRS && (await repairStore(records, report, output)); round += 1)
      report = await run(checked, before, output)
    if (report.found.some(({ kind }) => kind === 'blob')) output.advice(FILE_ADVICE)
    const needed = [
      ...(secret === undefined ? [join(directory, 'secret')] : []),
      ...(missing === undefined ? [] : [missing]),
    ]
    if (await isExisting(records)) adviseOnMissing(needed, output)
    return report
  } finally {
    await parts.close()
  }
}

/** A store without an identity is new: its first start makes the secret and the keyring. */
const isExisting = async (records: RecordStore): Promise<boolean> =>
  (await storedOrigin(records).catch(() => undefined)) !== undefined

function adviseOnMissing(paths: readonly string[], output: Output): void {
  if (paths.length === 0) return
  const [are, them] = paths.length === 1 ? ['is', 'it'] : ['are', 'them']
  output.advice(`The server will not start: ${paths.join(' and ')} ${are} missing. Restore ${them} from a backup`)
}

/** The first folder that is not of the registry in the records, as a list of at most one. A start refuses it. */
async function foreignFolders(markers: FolderMarkers, records: RecordStore): Promise<readonly Difference[]> {
  try {
    assertOneRegistry(markers, await storedOrigin(records))
    return []
  } catch (error) {
    if (!isRegistryError(error, 'CORRUPT')) throw error
    return [{ kind: 'identity', key: 'registry.json', message: error.message }]
  }
}

const FILE_ADVICE =
  'Restore the files named above from a backup: see "A lost volume" in server/OPERATIONS.md. --repair cannot repair files'

/** Counters are repaired after the indexes that they count. */
const MAX_REPAIRS = 3

const onUnknown = (authority: string): void =>
  void process.stderr.write(`The CA of ${authority} is not known here (EVIDENCE_TSA_CA): its tokens are not verified\n`)

const MISSING_HEAD: Difference = {
  kind: 'head',
  key: 'signed-head.json',
  message: 'It is missing, although the log has entries: restore the newest one',
}

/** A secret file that was named must exist. Without the file in the data directory, the check is less complete. */
async function readSecretOf({ secretFile }: Config, directory: string): Promise<Uint8Array | undefined> {
  const path = secretFile ?? join(directory, 'secret')
  if (secretFile !== undefined || (await exists(path))) return readSecret(path)
  process.stderr.write(`${path} does not exist: the keys of the log are not checked against the secret\n`)
  return undefined
}

interface Keyring {
  readonly checkpointSigner?: CheckpointSigner
  /** The file that a server needs and that does not exist. */
  readonly missing?: string
}

/** A file that was named must exist. Without the file in the data directory, the check is less complete. */
async function readKeyring(config: Config): Promise<Keyring> {
  const path = keyringPath(config)
  if (config.checkpointKeys !== undefined || (await exists(path)))
    return { checkpointSigner: await openCheckpointKeys(path) }
  process.stderr.write(`${path} does not exist: it is not checked that the newest key can sign\n`)
  return { missing: path }
}

interface CheckedStore extends FsckReport {
  /** The differences that were found in the records. */
  readonly found: readonly Difference[]
}

/** `before`: differences of files beside the records. They are printed first and counted. */
async function run(stores: FsckStores, before: readonly Difference[], output: Output): Promise<CheckedStore> {
  for (const difference of before) output.difference(difference)
  const found: Difference[] = []
  const checked = await fsck(stores, {
    onDifference(difference) {
      found.push(difference)
      output.difference(difference)
    },
    onProgress: (progress) => output.progress(progress),
  })
  const report = { ...checked, differences: checked.differences + before.length }
  output.result(report)
  return { ...report, found }
}

/** Returns false if nothing was written. */
async function repairStore(
  records: RecordStore,
  { found, differences }: CheckedStore,
  output: Output,
): Promise<boolean> {
  const plan = planRepair(found)
  if (plan.blocking.length > 0) {
    output.note(
      `Nothing is repaired: ${plan.blocking.length} differences are in records from which others follow. Restore a backup`,
    )
    return false
  }
  if (plan.writes.length === 0 && differences > 0)
    output.note('None of these differences can be repaired: nothing is written')
  for (const { key, value } of plan.writes) output.repair(value === null ? 'delete' : 'write', key)
  await repairRecords(records, plan)
  return plan.writes.length > 0
}
