import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { FileSignedHead, readSecret } from '../../adapters/files/index.ts'
import { isRegistryError, type CheckedPart, type RecordStore } from '../../core/index.ts'
import {
  fsck,
  repairRecords,
  RepairPlanner,
  storedOrigin,
  type Difference,
  type FsckReport,
  type FsckStores,
} from '../../core/ops/index.ts'
import type { Config } from '../settings/load.ts'
import { openBlobs } from '../startup/blobs.ts'
import { keyringPath, openSigner } from '../startup/checkpoint-keys.ts'
import { OpenParts } from '../startup/open-parts.ts'
import { assertHasRecords, assertOneRegistry, readMarkers, type DirectoryMarkers } from '../startup/markers.ts'
import { openRecords } from '../startup/records.ts'
import { createAttestationVerifier } from './attestations.ts'
import { CHECKPOINT_KEYS, DATA_DIR, defineCommand, SECRET_FILE } from './command.ts'
import { checkAuthority, checkLedger } from './fsck-files.ts'
import { ProgressLine } from './terminal.ts'

const flags = {
  'data-dir': DATA_DIR,
  'secret-file': SECRET_FILE,
  'checkpoint-keys': CHECKPOINT_KEYS,
  'skip-files': { doc: 'do not read the stored files' },
  repair: { doc: 'rebuild indexes, counters and tiles, if everything that they follow from verifies' },
  json: { doc: 'print a line of JSON for each difference, and one for the result' },
} as const

/** `evidence-registry fsck`. */
export const fsckCommand = defineCommand({
  name: 'fsck',
  description: `
Checks a registry. Computes every txId, leaf, tile, root, signature and index again from the records, verifies
the tokens of stamps and the proofs of anchors, checks the local ledger, the last stamp and the keys of the
embedded authority, reads every stored file, and prints one line for each difference. Stop the server first.

The records are where EVIDENCE_RECORDS and EVIDENCE_POSTGRES_URL say, the files where EVIDENCE_BLOBS and
EVIDENCE_S3_... say, as for the server. --repair first prints each record that it will write or delete, then
writes, then checks again. Tokens of other authorities need EVIDENCE_TSA_CA.`,
  flags,
  success: 'no differences',
  async run({ 'skip-files': skipFiles = false, repair = false, json = false }, config) {
    const { differences } = await checkRegistry(config, { skipFiles, repair }, json ? jsonOutput : textOutput())
    return differences
  },
})

/** How the check tells what it finds. */
export interface Output {
  /** A line for people, and the same for programs. */
  print(text: string, json: object): void
  progress(text: string): void
  /** What to do, after the result. Only for people: a program reads the kind of each difference. */
  advise(text: string): void
}

/** Lines for people, with a line of progress on stderr. */
function textOutput(): Output {
  const line = new ProgressLine()
  const print = (text: string): void => line.print(text)
  return { print, progress: (text) => line.show(text), advise: print }
}

/** Lines of JSON. A program needs neither progress nor advice. */
const jsonOutput: Output = {
  print: (_, json) => void process.stdout.write(`${JSON.stringify(json)}\n`),
  progress: () => undefined,
  advise: () => undefined,
}

/** Which parts are checked, and whether what can be rebuilt is rebuilt. */
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
  if (config.records === 'level') assertHasRecords(directory)
  // A folder that is lost must not be made again by opening it.
  const markers = await readMarkers(config)
  const missing: string[] = []
  const secret = await readNeeded(config.secretFile, join(directory, 'secret'), readSecret, missing)
  const openKeys = () => openSigner(config)
  const checkpointSigner = await readNeeded(config.checkpointKeys, keyringPath(config), openKeys, missing)
  const signedHead = await new FileSignedHead(join(directory, 'signed-head.json')).read()
  const ledger = await checkLedger(join(directory, 'ledger'))
  const authority = await checkAuthority(join(directory, 'tsa'))
  const attestations = await createAttestationVerifier(config, directory, { ledger, authority })
  const knownHeads = [...ledger.knownHeads, ...authority.knownHeads]
  return OpenParts.use(async (parts) => {
    // What is damaged is not repaired: with repairs, damage is not accepted.
    const settings = { ...config, readOnly: config.readOnly && !repair }
    const { opening, storeFiles } = openChecked(settings, output)
    const { records } = await parts.add(opening, ({ records: opened }) => opened)
    const blobs = skipFiles ? undefined : await parts.add(openBlobs(config, directory))
    const isHeadMissing = signedHead === undefined && (await records.logSize()) > 0
    const foreign = await foreignFolders(markers, records)
    const before = [
      ...storeFiles,
      ...foreign,
      ...ledger.differences,
      ...authority.differences,
      ...(isHeadMissing ? [MISSING_HEAD] : []),
    ]
    const stores = { records, blobs, secret, checkpointSigner, signedHead, knownHeads, attestations }
    let report = await run(stores, before, output)
    let last = Infinity
    for (let round = 0; repair && (round < MIN_ROUNDS || report.found < last); round += 1) {
      last = report.found
      if (!(await repairStore(records, report, output))) break
      report = await run(stores, before, output)
    }
    if (report.hasDamagedFiles) output.advise(FILE_ADVICE)
    // A store without an identity is new: its first start makes these files.
    if (missing.length > 0 && (await hasIdentity(records)))
      output.advise(`The server will not start without ${missing.join(' and ')}: restore what is missing from a backup`)
    return report
  })
}

/** Opens the records. Their files are checked before: `storeFiles` is filled, and printed if nothing is opened. */
function openChecked(settings: Config, output: Output) {
  const storeFiles: Difference[] = []
  let done = 0
  const onCheckedPart = ({ file, bytes, damagedAt }: CheckedPart): void => {
    done += bytes
    output.progress(`record files: ${Math.floor(done / 1e6)} MB`)
    if (damagedAt !== undefined)
      storeFiles.push({ kind: 'store file', key: file, message: `It is damaged at byte ${damagedAt}` })
  }
  const opening = openRecords(settings, { maxOpenFiles: MAX_OPEN_FILES, onCheckedPart }).catch((error: unknown) => {
    for (const difference of storeFiles) showDifference(output, difference)
    throw error
  })
  return { opening, storeFiles }
}

function showDifference(output: Output, { kind, key, message }: Difference): void {
  output.print(`${kind}: ${key}: ${message}`, { difference: { kind, key, message } })
}

/** Whether a registry was ever opened on these records. */
const hasIdentity = async (records: RecordStore): Promise<boolean> =>
  (await storedOrigin(records).catch(() => undefined)) !== undefined

/** The first folder that is not of the registry in the records, as a list of at most one. A start refuses it. */
async function foreignFolders(markers: DirectoryMarkers, records: RecordStore): Promise<readonly Difference[]> {
  try {
    assertOneRegistry(markers, await storedOrigin(records))
    return []
  } catch (error) {
    if (!isRegistryError(error, 'CORRUPT')) throw error
    return [{ kind: 'identity', key: 'registry.json', message: error.message }]
  }
}

/** Counters are repaired after the indexes that they count. More rounds follow as long as they help. */
const MIN_ROUNDS = 3

/** LevelDB maps each open table of 8 MiB into memory. The check reads everything, so of a large store all of them. */
const MAX_OPEN_FILES = 100

const FILE_ADVICE =
  'Restore the files named above from a backup: see "A lost volume" in server/OPERATIONS.md. --repair cannot ' +
  'repair files'

const MISSING_HEAD: Difference = {
  kind: 'head',
  key: 'signed-head.json',
  message: 'It is missing, although the log has entries: restore the newest one',
}

/**
 * Reads a file with keys that a server needs. A file that was named must exist. Without the one in the data directory,
 * the check is less complete, and the path is added to `missing`.
 */
async function readNeeded<T>(
  named: string | undefined,
  path: string,
  read: (path: string) => Promise<T>,
  missing: string[],
): Promise<T | undefined> {
  if (named !== undefined || existsSync(path)) return read(named ?? path)
  process.stderr.write(`${path} does not exist: what depends on its keys is not checked\n`)
  missing.push(path)
  return undefined
}

interface CheckedStore extends FsckReport {
  /** How many differences were found in the records. */
  readonly found: number
  readonly hasDamagedFiles: boolean
  readonly planner: RepairPlanner
}

/** `before`: differences of files beside the records. They are printed first and counted. */
async function run(stores: FsckStores, before: readonly Difference[], output: Output): Promise<CheckedStore> {
  for (const difference of before) showDifference(output, difference)
  const planner = new RepairPlanner()
  let hasDamagedFiles = false
  const checked = await fsck(stores, {
    onDifference(difference) {
      planner.add(difference)
      hasDamagedFiles ||= difference.kind === 'blob'
      showDifference(output, difference)
    },
    onProgress: ({ stage, done }) => output.progress(`${stage}: ${done}`),
  })
  const differences = checked.differences + before.length
  const { log, evidences, indexes, blobs } = checked.done
  const verdict = differences === 0 ? 'nothing differs' : `${differences} difference${differences === 1 ? '' : 's'}`
  output.print(
    `${log} log entries, ${evidences} events, ${indexes} other records and ${blobs} files checked: ${verdict}`,
    { result: { differences, checked: checked.done } },
  )
  return { ...checked, differences, found: checked.differences, hasDamagedFiles, planner }
}

/** Returns false if nothing was written. */
async function repairStore(
  records: RecordStore,
  { planner, differences }: CheckedStore,
  output: Output,
): Promise<boolean> {
  const note = (text: string): void => output.print(text, { note: text })
  const { blocking, writes } = planner.plan
  if (blocking > 0) {
    note(`Nothing is repaired: ${blocking} differences are in records from which others follow. Restore a backup`)
    return false
  }
  if (writes.length === 0 && differences > 0) note('None of these differences can be repaired: nothing is written')
  for (const { key, value } of writes) {
    const action = value === null ? 'delete' : 'write'
    output.print(`repair: ${action} ${key}`, { repair: { action, key } })
  }
  await repairRecords(records, { blocking, writes })
  return writes.length > 0
}
