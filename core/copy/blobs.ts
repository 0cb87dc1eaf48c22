import { createHash } from 'node:crypto'
import { isDamage } from '../fsck/damage.ts'
import type { BlobStore, RecordStore } from '../ports/index.ts'
import { isInRange } from '../store/key.ts'
import { keys } from '../store/keys.ts'
import { decodeRecord } from '../store/record-codec.ts'
import type { DeletedFileRecord, FileRecord } from '../store/records.ts'
import { type CopiedRecord, type RecordSource } from './source.ts'

export interface BlobStores {
  readonly from: BlobStore
  readonly to: BlobStore
}

export interface CopyBlobsHandlers {
  /**
   * Called for a file that is not complete in the target, with the reason. `error` is a `SourceDamage` if the source
   * does not have its bytes, else one of the stores failed. The copy ends if it throws.
   */
  onProblem(fileId: string, message: string, error: unknown): void
  onProgress(stage: 'copy' | 'verify', files: number, bytes: number): void
  /** Ends the copying of a file, which is a problem then. */
  readonly signal?: AbortSignal
}

/** The bytes of a file are missing or damaged in the source, so that another attempt fails, too. */
export class SourceDamage extends Error {}

export interface CopyBlobsReport {
  readonly copied: number
  /** Files that were in the target before. */
  readonly existing: number
  /** Files that were read again from the target and match their recorded SHA-256. */
  readonly verified: number
  readonly problems: number
}

/** Concurrent files: a small file mostly waits for the store, and each upload holds one part in memory. */
const CONCURRENCY = 4

/**
 * Copies the blob of every file that is not deleted to another store, then reads each of them from the target and
 * verifies its SHA-256. What the target already has is not copied again, so the copy can be interrupted and run again.
 *
 * The source is only read. No other program may write to either store. A file that fails is reported as a problem and
 * the others continue. Throws what the record store throws.
 */
export async function copyBlobs(
  records: RecordStore,
  stores: BlobStores,
  handlers: CopyBlobsHandlers,
): Promise<CopyBlobsReport> {
  const copy = new BlobCopy(() => filesIn(records.list(keys.files())), stores, handlers)
  // The verification replaces what is in the target with the right size, but other bytes.
  await copy.forEachFile('copy', (file) => copy.copyIfMissing(file, () => true))
  await copy.forEachFile('verify', (file) => copy.verify(file))
  return copy.report
}

/**
 * Copies the bytes of every file in `source` that the target does not have, and verifies the SHA-256 of what it copies
 * and of what was in the target before: a copy that was interrupted may have left a part of a file. Programs may write
 * to the store of the source: a file that was deleted since is a problem, too.
 *
 * @param complete ids of files that are known to be complete in the target: if they have their recorded size, they are
 *   not read again. The ids of all other complete files are added.
 */
export async function copyMissingBlobs(
  source: RecordSource,
  stores: BlobStores,
  handlers: CopyBlobsHandlers,
  complete = new Set<string>(),
): Promise<Omit<CopyBlobsReport, 'verified'>> {
  const copy = new BlobCopy(() => filesIn(source.records()), stores, handlers)
  await copy.forEachFile('copy', async (file) => {
    await copy.copyIfMissing(file, (existing) => complete.has(existing.id) || isIntact(stores.to, existing))
    complete.add(file.id)
  })
  return copy.report
}

/** The ids of the files in `source` that have a blob. */
export async function fileIdsIn(source: RecordSource): Promise<Set<string>> {
  const ids = new Set<string>()
  for await (const { id } of filesIn(source.records())) ids.add(id)
  return ids
}

type Files = () => AsyncGenerator<FileRecord, void, undefined>

class BlobCopy {
  readonly report = { copied: 0, existing: 0, verified: 0, problems: 0 }
  readonly #files: Files
  readonly #stores: BlobStores
  readonly #handlers: CopyBlobsHandlers
  readonly #failed = new Set<string>()

  constructor(files: Files, stores: BlobStores, handlers: CopyBlobsHandlers) {
    this.#files = files
    this.#stores = stores
    this.#handlers = handlers
  }

  /** Runs `work` for each file that has not failed yet. */
  forEachFile(stage: 'copy' | 'verify', work: (file: FileRecord) => Promise<void>): Promise<void> {
    let [files, bytes] = [0, 0]
    return forEachConcurrently(this.#files(), async (file) => {
      if (this.#failed.has(file.id)) return
      try {
        await work(file)
      } catch (error) {
        this.#fail(file.id, error)
      }
      files += 1
      bytes += file.size
      this.#handlers.onProgress(stage, files, bytes)
    })
  }

  #fail(fileId: string, error: unknown): void {
    this.#failed.add(fileId)
    this.report.problems += 1
    this.#handlers.onProblem(fileId, error instanceof Error ? error.message : String(error), error)
  }

  /** `isComplete`: whether a file that the target holds with its recorded size counts as copied. */
  async copyIfMissing(
    file: FileRecord,
    isComplete: (existing: FileRecord) => boolean | Promise<boolean>,
  ): Promise<void> {
    const size = await sizeIn(this.#stores.to, file.id)
    if (size === file.size && (await isComplete(file))) {
      this.report.existing += 1
      return
    }
    if (size === undefined) await copyFile(file, this.#stores, this.#handlers.signal)
    else await replaceFile(file, this.#stores, this.#handlers.signal)
    this.report.copied += 1
  }

  async verify(file: FileRecord): Promise<void> {
    if (!(await isIntact(this.#stores.to, file))) {
      await replaceFile(file, this.#stores, this.#handlers.signal)
      if (!(await isIntact(this.#stores.to, file)))
        throw new Error('Its bytes in the target are not those that were recorded')
      this.report.copied += 1
    }
    this.report.verified += 1
  }
}

async function* filesIn(records: AsyncIterable<CopiedRecord>): AsyncGenerator<FileRecord, void, undefined> {
  for await (const record of records) {
    const file = fileIn(record)
    if (file !== undefined) yield file
  }
}

/** Returns which of these files no longer have bytes: they were deleted, or their category was. */
export async function deletedFiles(records: RecordStore, fileIds: readonly string[]): Promise<readonly string[]> {
  const entries = await records.get(fileIds.map((id) => keys.file(id)))
  return fileIds.filter((_, i) => {
    const entry = entries[i]
    return entry === undefined || fileIn(entry) === undefined
  })
}

/** The file in a record that has a blob. `undefined` for a deleted or small file, and for any other record. */
export function fileIn(record: CopiedRecord): FileRecord | undefined {
  if (!isInRange(record.key, keys.files())) return undefined
  const file = decodeRecord<FileRecord | DeletedFileRecord>(record)
  return 'deletion' in file || 'content' in file ? undefined : file
}

/** The first file on record that has a blob. */
export async function firstFile(records: RecordStore): Promise<FileRecord | undefined> {
  for await (const entry of records.list(keys.files())) {
    const file = fileIn(entry)
    if (file !== undefined) return file
  }
  return undefined
}

async function sizeIn(store: BlobStore, id: string): Promise<number | undefined> {
  const blob = await store.get(id)
  // A body that is not read must be released.
  await blob?.body[Symbol.asyncIterator]().return?.()
  return blob?.size
}

/** Requires that the target has nothing under the file's id. */
async function copyFile(
  { id, size, sha256 }: FileRecord,
  { from, to }: BlobStores,
  signal?: AbortSignal,
): Promise<void> {
  const blob = await readSource(() => from.get(id, undefined, signal))
  if (blob === undefined) throw new SourceDamage('Its bytes are missing in the source')
  const maxBytes = Math.max(size, blob.size)
  const digest = await to.put(id, sourceBody(blob.body), { maxBytes, ...(signal && { signal }) })
  if (Buffer.from(digest.sha256).toString('hex') === sha256) return
  await to.delete(id)
  throw new SourceDamage('Its bytes in the source are not those that were recorded')
}

/**
 * Replaces wrong bytes in the target. Deletes them only if the source is right: source and target may have been
 * confused, and then these are the only bytes.
 */
async function replaceFile(file: FileRecord, stores: BlobStores, signal?: AbortSignal): Promise<void> {
  if (!(await readSource(() => isIntact(stores.from, file))))
    throw new SourceDamage('Its bytes are wrong in the target, and in the source wrong or missing')
  await stores.to.delete(file.id)
  await copyFile(file, stores, signal)
}

/** Tells damaged bytes of the source from a store that fails. A put throws the errors of its body unchanged. */
async function readSource<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw isDamage(error) ? new SourceDamage((error as Error).message, { cause: error }) : error
  }
}

async function* sourceBody(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks = body[Symbol.asyncIterator]()
  try {
    for (;;) {
      const step = await readSource(() => chunks.next())
      if (step.done === true) return
      yield step.value
    }
  } finally {
    await chunks.return?.()
  }
}

async function isIntact(store: BlobStore, { id, sha256 }: FileRecord): Promise<boolean> {
  const blob = await store.get(id)
  if (blob === undefined) return false
  const hash = createHash('sha256')
  for await (const chunk of blob.body) hash.update(chunk)
  return hash.digest('hex') === sha256
}

/** If one item fails, the items in progress are finished first, and no other one begins. Then throws the error. */
async function forEachConcurrently<T>(items: AsyncGenerator<T>, work: (item: T) => Promise<void>): Promise<void> {
  const worker = async (): Promise<void> => {
    try {
      // An async generator queues calls of `next`, so each item goes to exactly one worker.
      for (let step = await items.next(); step.done !== true; step = await items.next()) await work(step.value)
    } catch (error) {
      await items.return(undefined)
      throw error
    }
  }
  const results = await Promise.allSettled(Array.from({ length: CONCURRENCY }, worker))
  for (const result of results) if (result.status === 'rejected') throw result.reason
}
