import { createHash } from 'node:crypto'
import { keys } from '../../core/store/keys.ts'
import type { BlobStore, RecordStore } from '../../core/ports.ts'
import { decodeRecord, type DeletedFileRecord, type FileRecord } from '../../core/store/records.ts'

export interface CopyHandlers {
  /** A file that is not whole in the target, and why. */
  onProblem(fileId: string, message: string): void
  onProgress(stage: 'copy' | 'verify', files: number, bytes: number): void
}

export interface CopyReport {
  readonly copied: number
  /** Were in the target before, at their recorded size. */
  readonly found: number
  /** Read again from the target, and what was recorded. */
  readonly verified: number
  readonly problems: number
}

/** Uploads at once: small files wait for answers most of the time, and each holds a part in memory. */
const AT_ONCE = 4

/**
 * Copies the bytes of every file that is there from one store to another, then reads every one of them from the target and
 * hashes it. What the target has already is not copied again, so it can be stopped and begun again anywhere. The
 * source is left as it is. Nobody may write meanwhile. Throws what the records throw; a file that fails is a problem, and the
 * others go on.
 */
export async function copyBlobs(
  records: RecordStore,
  { from, to }: { readonly from: BlobStore; readonly to: BlobStore },
  handlers: CopyHandlers,
): Promise<CopyReport> {
  const count = { copied: 0, found: 0, verified: 0, problems: 0 }
  const failed = new Set<string>()
  const each = (stage: 'copy' | 'verify', work: (file: FileRecord) => Promise<void>): Promise<void> => {
    let [files, bytes] = [0, 0]
    return atOnce(filesOf(records), async (file) => {
      if (failed.has(file.id)) return
      try {
        await work(file)
      } catch (error) {
        failed.add(file.id)
        count.problems += 1
        handlers.onProblem(file.id, error instanceof Error ? error.message : String(error))
      }
      files += 1
      bytes += file.size
      handlers.onProgress(stage, files, bytes)
    })
  }
  await each('copy', async (file) => {
    const size = await sizeIn(to, file.id)
    if (size === file.size) count.found += 1
    else {
      if (size === undefined) await copy(file, from, to)
      else await replace(file, from, to)
      count.copied += 1
    }
  })
  await each('verify', async (file) => {
    if (!(await isWhole(to, file))) {
      await replace(file, from, to)
      if (!(await isWhole(to, file))) throw new Error('Its bytes in the target are not those that were recorded')
      count.copied += 1
    }
    count.verified += 1
  })
  return count
}

async function* filesOf(records: RecordStore): AsyncGenerator<FileRecord> {
  for await (const { value } of records.list(keys.files())) {
    const file = decodeRecord<FileRecord | DeletedFileRecord>(value)
    if (!('deletion' in file)) yield file
  }
}

async function sizeIn(store: BlobStore, id: string): Promise<number | undefined> {
  const blob = await store.get(id)
  // A body that nobody reads must be let go.
  await blob?.body[Symbol.asyncIterator]().return?.()
  return blob?.size
}

/** Requires that the target has nothing under the file's key. */
async function copy({ id, size, sha256 }: FileRecord, from: BlobStore, to: BlobStore): Promise<void> {
  const blob = await from.get(id)
  if (blob === undefined) throw new Error('Its bytes are missing in the source')
  const digest = await to.put(id, blob.body, { maxBytes: Math.max(size, blob.size) })
  if (Buffer.from(digest.sha256).toString('hex') === sha256) return
  await to.delete(id)
  throw new Error('Its bytes in the source are not those that were recorded')
}

/** What the target has is wrong. It goes only where the source is right: the two may have been mixed up, and this be all there is. */
async function replace(file: FileRecord, from: BlobStore, to: BlobStore): Promise<void> {
  if (!(await isWhole(from, file)))
    throw new Error('Its bytes are wrong in the target, and in the source wrong or missing')
  await to.delete(file.id)
  await copy(file, from, to)
}

async function isWhole(store: BlobStore, { id, sha256 }: FileRecord): Promise<boolean> {
  const blob = await store.get(id)
  if (blob === undefined) return false
  const hash = createHash('sha256')
  for await (const chunk of blob.body) hash.update(chunk)
  return hash.digest('hex') === sha256
}

async function atOnce<T>(items: AsyncGenerator<T>, work: (item: T) => Promise<void>): Promise<void> {
  const worker = async (): Promise<void> => {
    // An async generator answers one `next` after the other, so each item goes to one worker.
    for (let step = await items.next(); step.done !== true; step = await items.next()) await work(step.value)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}
