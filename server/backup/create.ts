import { createReadStream, existsSync } from 'node:fs'
import { join } from 'node:path'
import { makeDirectoryDurably, openLocalBlobs, writeDurably } from '../../adapters/files/index.ts'
import { lockDirectory } from '../../adapters/level/index.ts'
import { ledgerPrefix } from '../../adapters/local-ledger/index.ts'
import { RegistryError, type BlobStore, type RecordStore } from '../../core/index.ts'
import type { RecordSnapshot, SnapshotSource } from '../../adapters/kit/index.ts'
import {
  copyBlobs,
  deletedFiles,
  encodeRecords,
  erasureLinesIn,
  fileIn,
  SourceDamage,
  treeSizeIn,
  type CopiedRecord,
} from '../../core/ops/index.ts'
import type { OperationRun } from '../control/operation.ts'
import type { Config } from '../settings/load.ts'
import { encodeList, ERASURE_LIST } from '../startup/erasure-list.ts'
import { headsIn } from '../startup/signed-heads.ts'
import { LEDGER_FILE, missingSecrets, PUBLIC_FILES, readSecretFiles } from './data-files.ts'
import { assertApart, assertUsable, fileError, newFolder, removeFoldersBut, removeOtherBlobs } from './directory.ts'
import {
  completeFilesOf,
  filesOfFolder,
  readManifest,
  RECORDS,
  SECRETS,
  SIGNED_HEAD,
  writeManifest,
  type BackupFile,
  type Manifest,
} from './manifest.ts'
import { sealSecrets } from './secrets.ts'

/** What is backed up. The registry may be in use. */
export interface BackupSources {
  readonly records: RecordStore
  /** Of these records. */
  readonly snapshots: SnapshotSource
  readonly blobs: BlobStore
  readonly config: Config
  /** The log's origin. */
  readonly origin: string
}

/** What the command asks for. */
export interface BackupRequest {
  /** Absolute path of the backup. An earlier one of the same registry there is replaced, and its files are reused. */
  readonly to: string
  /** If given, the secrets are part of the backup, encrypted with it. */
  readonly passphrase?: string
  /** Confirms that no process of another machine writes to the directory: see `LockOptions`. */
  readonly takeOver?: boolean
}

/** What a backup holds, and what it could not copy. */
export interface BackupReport {
  readonly logSize: number
  readonly treeSize: number
  /** Files whose bytes this run copied. */
  readonly copiedBlobs: number
  /** Files that an earlier backup had copied. */
  readonly reusedBlobs: number
  /** Those of `copiedBlobs` whose copy in the earlier backup was damaged or missing. */
  readonly replacedBlobs: number
  /** Files whose bytes are missing or damaged in the registry itself, and secrets that are missing: name and reason. */
  readonly problems: readonly string[]
}

/** A file that is deleted while its bytes are copied needs a newer snapshot. Each attempt copies only what is new. */
const MAX_ATTEMPTS = 20

/**
 * Backs a registry up while it is in use: a snapshot of the records and the log, the bytes of every file in that
 * snapshot, and the small files of the data directory. The manifest is written last and replaces that of an earlier
 * backup, so a backup that is interrupted or cancelled leaves the earlier one complete.
 *
 * @throws RegistryError `CONFIG_ERROR` if the directory is in the data directory or around it, holds something else, or
 *   an earlier backup with secrets that this one would drop; `STORE_LOCKED` if another backup writes to it; what the
 *   stores and the file system throw. An earlier backup stays complete then
 */
export async function createBackup(
  sources: BackupSources,
  request: BackupRequest,
  run: OperationRun,
): Promise<BackupReport> {
  const { to, takeOver = false } = request
  try {
    await assertApart(to, sources.config.dataDir)
    await makeDirectoryDurably(to)
    const wanted = { ...sources, hasSecrets: request.passphrase !== undefined }
    // Locking creates a folder, which must not stay in a directory of someone else.
    await assertUsable(to, await readManifest(to), wanted)
    const release = await lockDirectory(to, { takeOver, advice: TAKE_OVER_ADVICE })
    try {
      // Again: another backup may have ended in between.
      const earlier = await readManifest(to)
      await assertUsable(to, earlier, wanted)
      return await new Backup(sources, request, run).write(earlier)
    } finally {
      await release()
    }
  } catch (error) {
    throw fileError(error, to)
  }
}

const TAKE_OVER_ADVICE =
  'a backup was interrupted there, or is still being written. Make sure that it has ended, then repeat with --take-over'

/**
 * Each backup compares the hash of one part of the files that it reuses, and of the others only the size: the next one
 * continues with the next part. So damage in a backup is mended within so many runs, and a run does not read it whole:
 * hashing takes a second of the server's processor for about 700 MiB, and the disk takes several.
 */
const PARTS = 7

/** By the last byte of the id, which is random. */
const partOf = (fileId: string): number => Number.parseInt(fileId.slice(-2), 16) % PARTS

/** What a snapshot of the records holds. */
interface Contents {
  readonly logSize: number
  readonly treeSize: number
  /** Of all files that are not deleted. */
  readonly fileIds: ReadonlySet<string>
  readonly fileBytes: number
}

/** One run. Its state is the folder that it fills: an attempt that fails begins a new one. */
class Backup {
  readonly #sources: BackupSources
  readonly #request: BackupRequest
  readonly #run: OperationRun
  #folder = ''
  #files: BackupFile[] = []
  #missingSecrets: readonly string[] = []
  /** Files that the earlier backup has, as far as it knows. */
  #earlierBlobs: ReadonlySet<string> = new Set()
  /** Files that this run has copied or compared. */
  readonly #completeBlobs = new Set<string>()
  #replacedBlobs = 0
  /** The part of the reused files whose hashes this run compares. */
  #part = 0

  constructor(sources: BackupSources, request: BackupRequest, run: OperationRun) {
    this.#sources = sources
    this.#request = request
    this.#run = run
  }

  async write(earlier: Manifest | undefined): Promise<BackupReport> {
    const { to } = this.#request
    const blobs = await openLocalBlobs(join(to, 'blobs'))
    this.#earlierBlobs = await completeFilesOf(to, earlier)
    this.#part = ((earlier?.comparedPart ?? -1) + 1) % PARTS
    let copiedBlobs = 0
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      await removeFoldersBut(to, earlier?.folder)
      this.#folder = newFolder(new Date())
      this.#files = []
      const contents = await this.#writeState()
      const problems = new Map<string, string>()
      const { copied, existing } = await this.#copyBlobs(blobs, problems)
      copiedBlobs += copied
      const deleted = await deletedFiles(this.#sources.records, [...problems.keys()])
      if (deleted.length > 0) continue
      await writeManifest(to, this.#manifest(contents, [...problems.keys()]))
      await removeFoldersBut(to, this.#folder)
      await removeOtherBlobs(join(to, 'blobs', 'content'), contents.fileIds)
      const { logSize, treeSize } = contents
      const lines = [
        ...this.#missingSecrets.map((path) => `${path}: It is missing, so the backup does not have it`),
        ...Array.from(problems, ([id, message]) => `${id}: ${message}`),
      ]
      const reusedBlobs = existing - (copiedBlobs - copied)
      return { logSize, treeSize, copiedBlobs, reusedBlobs, replacedBlobs: this.#replacedBlobs, problems: lines }
    }
    throw new RegistryError('UNAVAILABLE', 'Files were deleted faster than they could be copied: run the backup again')
  }

  /**
   * Writes everything but the bytes of files. The signed head is read before the snapshot is taken, so the snapshot
   * holds at least what it says. The ledger is read after it, and is cut where the snapshot ends.
   */
  async #writeState(): Promise<Contents> {
    const { snapshots } = this.#sources
    const { passphrase } = this.#request
    await this.#addDataFile(SIGNED_HEAD, SIGNED_HEAD)
    for (const path of PUBLIC_FILES) await this.#addDataFile(path, join('data', path))
    if (passphrase !== undefined) await this.#addSecrets(passphrase)
    const snapshot = await snapshots.snapshot()
    try {
      const contents = await this.#writeRecords(snapshot)
      await this.#writeLedger(contents.treeSize)
      return contents
    } finally {
      await snapshot.close()
    }
  }

  async #addSecrets(passphrase: string): Promise<void> {
    const { config } = this.#sources
    const files = await readSecretFiles(config)
    this.#missingSecrets = missingSecrets(files, config)
    await this.#add(SECRETS, [await sealSecrets(files, passphrase)])
  }

  async #writeRecords(snapshot: RecordSnapshot): Promise<Contents> {
    const fileIds = new Set<string>()
    const erasures: string[] = []
    let [treeSize, fileBytes] = [0, 0]
    const onRecord = (record: CopiedRecord): void => {
      treeSize = treeSizeIn(record) ?? treeSize
      erasures.push(...erasureLinesIn(record))
      const file = fileIn(record)
      if (file === undefined) return
      fileIds.add(file.id)
      fileBytes += file.size
    }
    const { report, signal } = this.#run
    const onProgress = (done: number): void => {
      signal.throwIfAborted()
      report({ stage: 'records', done })
    }
    await this.#add(RECORDS, encodeRecords(snapshot, { onRecord, onProgress }))
    await this.#add(ERASURE_LIST, [encodeList(erasures)])
    return { logSize: await snapshot.logSize(), treeSize, fileIds, fileBytes }
  }

  async #writeLedger(treeSize: number): Promise<void> {
    const path = join(this.#sources.config.dataDir, LEDGER_FILE)
    if (!existsSync(path)) return
    const isInSnapshot = (input: Uint8Array): boolean => headsIn(input).every(({ size }) => size <= treeSize)
    await this.#add(join('data', LEDGER_FILE), ledgerPrefix(path, isInSnapshot))
  }

  async #addDataFile(from: string, path: string): Promise<void> {
    const file = join(this.#sources.config.dataDir, from)
    if (existsSync(file)) await this.#add(path, createReadStream(file))
  }

  async #add(path: string, chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
    const digest = await writeDurably(join(this.#request.to, this.#folder, path), chunks)
    this.#files.push({ path, ...digest })
  }

  /**
   * Copies what the backup does not have. `problems`: filled with the reason for each file that is damaged in the
   * registry. Throws if a store fails.
   */
  async #copyBlobs(to: BlobStore, problems: Map<string, string>) {
    const { report, signal } = this.#run
    const files = filesOfFolder(this.#request.to, this.#folder)
    return copyBlobs(
      files,
      { from: this.#sources.blobs, to },
      {
        isKnown: (id) => this.#completeBlobs.has(id) || (this.#earlierBlobs.has(id) && partOf(id) !== this.#part),
        onComplete: ({ id }, isCopied) => {
          this.#completeBlobs.add(id)
          if (isCopied && this.#earlierBlobs.has(id)) this.#replacedBlobs += 1
        },
        onProblem(id, message, error) {
          signal.throwIfAborted()
          // A full disk or a store that cannot be reached: the backup must not replace an earlier one.
          if (!(error instanceof SourceDamage)) throw error
          problems.set(id, message)
        },
        onProgress(done) {
          signal.throwIfAborted()
          report({ stage: 'files', done })
        },
        signal,
      },
    )
  }

  #manifest({ logSize, treeSize, fileIds, fileBytes }: Contents, damagedBlobs: string[]): Manifest {
    return {
      format: 1,
      origin: this.#sources.origin,
      createdAt: new Date().toISOString(),
      folder: this.#folder,
      logSize,
      treeSize,
      files: this.#files,
      blobs: { count: fileIds.size, bytes: fileBytes },
      damagedBlobs,
      comparedPart: this.#part,
    }
  }
}
