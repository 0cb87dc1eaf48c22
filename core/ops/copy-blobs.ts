import { messageOf } from '../errors.ts'
import { createHash } from 'node:crypto'
import { isDamage } from './check/damage.ts'
import type { BlobStore, RecordStore } from '../ports/index.ts'
import { keys, isInRange } from '../store/keys.ts'
import { decodeRecord, type RecordBytes } from '../store/codec.ts'
import type { DeletedFileRecord, FileRecord } from '../store/records.ts'
import type { CopiedRecord, StreamPart } from './record-stream.ts'

export interface BlobStores {
  readonly from: BlobStore
  readonly to: BlobStore
}

export interface CopyBlobsOptions {
  /** Whether a file is known to be complete in the target: then it is not read again if it has its recorded size. */
  readonly isKnown?: (fileId: string) => boolean
  /** Called for each file that is complete in the target, and whether its bytes were copied. */
  readonly onComplete?: (file: FileRecord, isCopied: boolean) => void
  /**
   * Called for a file that is not complete in the target, with the reason. `error` is a `SourceDamage` if the source
   * does not have its bytes, else one of the stores failed. The copy ends if it throws.
   */
  readonly onProblem: (fileId: string, message: string, error: unknown) => void
  readonly onProgress: (files: number, bytes: number) => void
  /** Ends the copying of a file, which is a problem then. */
  readonly signal?: AbortSignal
}

/** The bytes of a file are missing or damaged in the source, so that another attempt fails, too. */
export class SourceDamage extends Error {}

export interface CopyBlobsReport {
  readonly copied: number
  /** Files that were complete in the target before. */
  readonly existing: number
  readonly problems: number
}

/** Concurrent files: a small file mostly waits for the store, and each upload holds one part in memory. */
const CONCURRENCY = 4

/**
 * Copies the bytes of every file that the target does not have, and verifies the SHA-256 of what it copies and of what
 * was in the target before: a copy that was interrupted may have left a part of a file. What is there and right is not
 * copied again, so the copy can be interrupted and run again.
 *
 * The source is only read. Programs may write to it: a file that was deleted since is a problem, too. A file that fails
 * is reported as a problem, and the others continue.
 *
 * @param files see `filesOf` and `filesIn`; what it throws is thrown
 */
export async function copyBlobs(
  files: AsyncGenerator<FileRecord>,
  stores: BlobStores,
  options: CopyBlobsOptions,
): Promise<CopyBlobsReport> {
  const { isKnown, onComplete, onProblem, onProgress, signal } = options
  const report = { copied: 0, existing: 0, problems: 0 }
  let [done, bytes] = [0, 0]
  await forEachConcurrently(files, async (file) => {
    try {
      const isThere = await isComplete(file, stores.to, isKnown?.(file.id) === true)
      if (isThere === undefined) await copyFile(file, stores, signal)
      else if (!isThere) await replaceFile(file, stores, signal)
      const isCopied = isThere !== true
      report[isCopied ? 'copied' : 'existing'] += 1
      onComplete?.(file, isCopied)
    } catch (error) {
      report.problems += 1
      onProblem(file.id, messageOf(error), error)
    }
    onProgress((done += 1), (bytes += file.size))
  })
  return report
}

/**
 * Returns `undefined` if the store does not have the file. If it is known, only its size is compared. Bytes that the
 * disk cannot read are wrong bytes.
 */
async function isComplete(file: FileRecord, to: BlobStore, isKnown: boolean): Promise<boolean | undefined> {
  const size = await sizeIn(to, file.id)
  if (size === undefined) return undefined
  if (size !== file.size || isKnown) return size === file.size
  return isIntact(to, file).catch((error: unknown) => {
    if (isDamage(error)) return false
    throw error
  })
}

/** The files in a store that have a blob. */
export async function* filesOf(records: RecordStore): AsyncGenerator<FileRecord, void, undefined> {
  for await (const entry of records.list(keys.files())) {
    const file = fileIn(entry)
    if (file !== undefined) yield file
  }
}

/** The files in a stream of `decodeRecords` that have a blob. */
export async function* filesIn(parts: AsyncIterable<StreamPart>): AsyncGenerator<FileRecord, void, undefined> {
  for await (const part of parts) {
    const file = 'key' in part ? fileIn(part) : undefined
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
  const stored: RecordBytes<FileRecord | DeletedFileRecord> = record
  const file = decodeRecord(stored)
  return 'deletion' in file || 'content' in file ? undefined : file
}

/** The size of a blob, `undefined` if the store does not have it. */
export async function sizeIn(store: Pick<BlobStore, 'get'>, id: string): Promise<number | undefined> {
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
    throw isDamage(error) ? new SourceDamage(error.message, { cause: error }) : error
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
