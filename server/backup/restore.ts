import { createReadStream } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { FileSignedHead, ifExists, openLocalBlobs, systemAdvice, writeDurably } from '../../adapters/files/index.ts'
import { RegistryError, type BlobStore, type RecordStore, type SignedHead } from '../../core/index.ts'
import {
  blobStoreName,
  copyBlobs,
  fillStore,
  fsck,
  SourceDamage,
  type Difference,
  type FsckStores,
  type ListedPlan,
} from '../../core/ops/index.ts'
import { checkLedger } from '../commands/fsck-files.ts'
import type { Config } from '../settings/load.ts'
import { openBlobs } from '../startup/blobs.ts'
import { ERASURE_LIST } from '../startup/erasure-list.ts'
import { claimBlobStore } from '../startup/markers.ts'
import { assertRestored, beginRestore, endRestore, UNFINISHED } from '../startup/unfinished-restore.ts'
import { OpenParts } from '../startup/open-parts.ts'
import { openLevel, openOutside } from '../startup/records.ts'
import { LEDGER_FILE, PUBLIC_FILES, SECRET_FILES } from './data-files.ts'
import { planErasures } from './erasures.ts'
import {
  damagedFiles,
  fileOf,
  filesOfFolder,
  openRecordStream,
  requireManifest,
  SECRETS,
  SIGNED_HEAD,
  type Manifest,
} from './manifest.ts'
import { blobIn, Problems, type RestoreHandlers } from './problems.ts'
import { openSecrets, type SecretFiles } from './secrets.ts'
import { configError } from '../settings/config-error.ts'

/** What the command asks for. */
export interface RestoreRequest {
  /** Directory of the backup. Only read. */
  readonly from: string
  /** The settings of the restored registry: where its records and files go. */
  readonly config: Config
  /** The newest tree that is known to be signed, for example from the registry that was lost. */
  readonly head: SignedHead | undefined
  readonly passphrase: string | undefined
  /**
   * Paths of the newest lists of what was erased. `undefined` if none is known, `[]` to confirm that what was erased
   * after the backup comes back.
   */
  readonly erasures: readonly string[] | undefined
}

/** What was restored, and what the operator has to do next. */
export interface RestoreReport {
  readonly manifest: Manifest
  /** Without `damagedBlobs`. */
  readonly problems: number
  /** Files whose bytes are missing or damaged in the backup. All else is restored. */
  readonly damagedBlobs: number
  /** Whether the secrets of the registry were restored. */
  readonly hasSecrets: boolean
  /** Evidences of which something was left out. Absent if no list names an erasure after the backup. */
  readonly erased?: number
  /**
   * `complete`: it holds everything that was signed, as far as `head` tells. `behind`: `head` is a larger tree. In both
   * cases `head` is now the signed head of the directory. `unknown`: there is no signed head, so a start is refused.
   */
  readonly state: 'complete' | 'behind' | 'unknown'
}

/**
 * Restores a backup into an empty data directory, and into the database and bucket of the settings. Verifies the hashes
 * of the backup before it writes anything, the hash of each file while it copies it, and at the end everything that
 * `fsck` checks: each txId, leaf and root, up to the signed checkpoints. Until then, and if anything differs but the
 * bytes of files that the backup does not have, a file in the data directory keeps every server from starting there.
 *
 * @throws RegistryError `CONFIG_ERROR` if the target is not empty, there is no backup, `head` is older than it, the
 *   passphrase is wrong, or it is not known what was erased after the backup
 */
export async function restoreBackup(request: RestoreRequest, handlers: RestoreHandlers): Promise<RestoreReport> {
  const { from, config, head, passphrase } = request
  await markTarget(config)
  const backup = await openBackup(from)
  const directory = resolve(config.dataDir)
  const { manifest } = backup
  const found = new Problems(handlers)
  await reportDamage(backup, found)
  if (found.count > 0) return { manifest, problems: found.count, damagedBlobs: 0, hasSecrets: false, state: 'unknown' }
  assertNotOlder(head, await backup.signedHead())
  const secrets = passphrase === undefined ? undefined : await secretsIn(backup, passphrase)
  const { plan, list } = await planErasures(backup, request, secrets?.get(ERASURE_LIST))
  await writeDataFiles(backup, directory, new Map(secrets).set(ERASURE_LIST, list))
  await OpenParts.use(async (parts) => {
    const records = await parts.add<RecordStore>(openTarget(config, directory))
    const blobs = await parts.add(openBlobs(config, directory))
    const id = await claimBlobStore({ config, blobs }, manifest.origin)
    await fill(
      { ...backup, ...(plan && { plan }) },
      { records, blobs, blobStore: config.records === 'level' ? undefined : id },
      found,
    )
    const signedHead = isWithin(head, manifest) ? head : await backup.signedHead()
    const stores = { records, blobs, signedHead, secret: secrets?.get('secret') }
    await check(stores, join(directory, 'ledger'), found, (difference) => found.addDifference(difference))
  })
  const problems = found.count
  if (head !== undefined && problems === 0) await new FileSignedHead(join(directory, SIGNED_HEAD)).write(head)
  if (problems === 0) await endRestore(directory)
  const state = head === undefined || problems > 0 ? 'unknown' : isWithin(head, manifest) ? 'complete' : 'behind'
  const ofBackup = { manifest, problems, damagedBlobs: found.damagedBlobs.size, hasSecrets: secrets !== undefined }
  return { ...ofBackup, ...(plan && { erased: plan.commits.length }), state }
}

/** A head that is older than the backup is not the newest one, so it does not tell what was signed after the backup. */
function assertNotOlder(head: SignedHead | undefined, inBackup: SignedHead | undefined): void {
  if (head === undefined || inBackup === undefined || head.size >= inBackup.size) return
  throw configError(
    `--head is older than the backup, or of another registry: a tree of ${head.size} entries, but ${inBackup.size} ` +
      'were signed before the backup. Name the newest signed-head.json, or leave --head out to open the ' +
      'registry read-only',
  )
}

const isWithin = (head: SignedHead | undefined, { treeSize }: Manifest): boolean =>
  head !== undefined && head.size <= treeSize

/** What `backup verify` asks for. */
export interface VerifyRequest {
  readonly from: string
  /** Only compare hashes: do not build the records again. */
  readonly quick: boolean
  readonly passphrase: string | undefined
}

export type VerifyReport = Pick<RestoreReport, 'manifest' | 'problems' | 'damagedBlobs'>

/**
 * Verifies a backup without changing it: the hashes of its files, and, unless `quick` is set, everything that `fsck`
 * checks, with the records in a temporary directory.
 */
export async function verifyBackup(
  { from, quick, passphrase }: VerifyRequest,
  handlers: RestoreHandlers,
): Promise<VerifyReport> {
  const backup = await openBackup(from)
  const { manifest } = backup
  const found = new Problems(handlers)
  await reportDamage(backup, found)
  if (found.count > 0) return { manifest, problems: found.count, damagedBlobs: 0 }
  if (passphrase !== undefined) await secretsIn(backup, passphrase)
  if (quick) return { manifest, problems: 0, damagedBlobs: manifest.damagedBlobs.length }
  const scratch = await mkdtemp(join(tmpdir(), 'evidence-backup-'))
  try {
    return await OpenParts.use(async (parts) => {
      const records = await parts.add(openLevel(scratch))
      await fillRecords(backup, records, found)
      const stores = { records, blobs: backup.blobs, signedHead: await backup.signedHead() }
      const ofBlobs: Difference[] = []
      await check(stores, join(backup.folder, 'data', 'ledger'), found, (difference) =>
        blobIn(difference) === undefined ? found.addDifference(difference) : ofBlobs.push(difference),
      )
      await found.addBlobs(ofBlobs, records)
      return { manifest, problems: found.count, damagedBlobs: found.damagedBlobs.size }
    })
  } catch (error) {
    throw fullDisk(error, scratch)
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

/** The backup is only read, so a full disk is that of the temporary directory. Any other error stays. */
function fullDisk(error: unknown, scratch: string): unknown {
  const advice = systemAdvice(error)
  if (advice?.endsWith('(ENOSPC)') !== true) return error
  const message = `The records do not fit into ${scratch}: ${advice}, or set TMPDIR`
  return new RegistryError('UNAVAILABLE', message, { cause: error })
}

/** A complete backup, open for reading. */
interface OpenedBackup {
  readonly directory: string
  /** Path of the folder that the manifest describes. */
  readonly folder: string
  readonly manifest: Manifest
  readonly blobs: BlobStore
  /** What is left out of it. */
  readonly plan?: ListedPlan
  signedHead(): Promise<SignedHead | undefined>
}

/** Opens a complete backup. Nothing in it is trusted before its hashes were compared. */
async function openBackup(directory: string): Promise<OpenedBackup> {
  const manifest = await requireManifest(directory)
  const folder = join(directory, manifest.folder)
  return {
    directory,
    folder,
    manifest,
    blobs: await openLocalBlobs(join(directory, 'blobs'), { readOnly: true }),
    signedHead: () => new FileSignedHead(join(folder, SIGNED_HEAD)).read(),
  }
}

/** Compares the hashes of all files but the blobs. */
async function reportDamage({ directory, manifest }: OpenedBackup, found: Problems): Promise<void> {
  const problems = await damagedFiles(directory, manifest, (bytes) => found.handlers.onProgress('hashes', bytes))
  for (const problem of problems) found.add(problem)
}

/** Decrypts the secrets. Throws `CONFIG_ERROR` if there are none, or the passphrase is wrong. */
async function secretsIn({ folder, manifest }: OpenedBackup, passphrase: string): Promise<SecretFiles> {
  if (fileOf(manifest, SECRETS) === undefined)
    throw configError('This backup has no secrets: run it without a passphrase')
  return openSecrets(await readFile(join(folder, SECRETS)), passphrase)
}

/**
 * Marks the data directory as not complete, before anything else is done that can fail: a server would take an empty
 * one for a new registry. A restore writes into an empty directory only, so that it never mixes two registries.
 */
export async function markTarget({ dataDir }: Pick<Config, 'dataDir'>): Promise<void> {
  const directory = resolve(dataDir)
  const names = ((await ifExists(readdir(directory))) ?? []).filter((name) => name !== 'lost+found')
  // A restore that failed before it wrote anything can be tried again.
  if (names.length === 1 && names[0] === UNFINISHED) return
  await assertRestored(directory)
  if (names.length > 0) throw configError(`${directory} is not empty: name a new data directory with --data-dir`)
  await beginRestore(directory)
}

/** Writes the small files of the data directory, and those that `secrets` holds. */
async function writeDataFiles(backup: OpenedBackup, directory: string, secrets: SecretFiles): Promise<void> {
  for (const path of [...PUBLIC_FILES, LEDGER_FILE])
    if (fileOf(backup.manifest, join('data', path)) !== undefined)
      await writeDurably(join(directory, path), createReadStream(join(backup.folder, 'data', path)))
  for (const [path, bytes] of secrets)
    if (SECRET_FILES.includes(path)) await writeDurably(join(directory, path), [bytes])
}

/** The record store of the settings, opened without the checks of a start. */
const openTarget = async (config: Config, directory: string): Promise<RecordStore> =>
  config.records === 'level' ? openLevel(directory) : (await openOutside(config)).records

/**
 * Writes files, then records: other servers of a database start as soon as its records are complete. A damaged file is
 * a problem of its own: the others are still restored.
 */
async function fill(
  backup: OpenedBackup,
  to: { readonly records: RecordStore; readonly blobs: BlobStore; readonly blobStore: string | undefined },
  found: Problems,
): Promise<void> {
  await copyBlobs(
    filesOfFolder(backup.directory, backup.manifest.folder, backup.plan),
    { from: backup.blobs, to: to.blobs },
    {
      onProblem(id, message, error) {
        if (error instanceof SourceDamage) found.addDamagedBlob(id, message)
        else found.add(`blob/${id}: ${message}`)
      },
      onProgress: (done) => found.handlers.onProgress('files', done),
    },
  )
  await fillRecords(backup, to.records, found, [{ writes: [blobStoreName(to.blobStore)] }])
}

const fillRecords = (
  { directory, manifest, plan }: OpenedBackup,
  to: RecordStore,
  found: Problems,
  last: Parameters<typeof fillStore>[3] = [],
) => {
  const onProgress = (done: number): void => found.handlers.onProgress('records', done)
  const commits = [...(plan?.commits ?? []), ...last]
  return fillStore(openRecordStream(directory, manifest.folder, plan), to, onProgress, commits)
}

/** Everything that `fsck` checks, and the local ledger in a folder. */
async function check(
  stores: FsckStores,
  ledgerFolder: string,
  found: Problems,
  onDifference: (difference: Difference) => void,
): Promise<void> {
  const { differences, knownHeads } = await checkLedger(ledgerFolder)
  for (const difference of differences) found.addDifference(difference)
  await fsck(
    { ...stores, knownHeads },
    {
      onDifference,
      onProgress: ({ stage, done }) => found.handlers.onProgress(`check of ${stage}`, done),
    },
  )
}
