import { createHash } from 'node:crypto'
import type { BlobRange, BlobStore } from '../../ports/index.ts'
import { sizeIn } from '../copy-blobs.ts'
import type { Check } from './check.ts'
import { storedBase64 } from '../../store/codec.ts'
import { keys } from '../../store/keys.ts'
import type { DeletedFileRecord, FileRecord } from '../../store/records.ts'

/** Where the bytes of files are. */
interface FileStores {
  /** Without it, only small files are checked, whose bytes are in their records. */
  readonly blobs?: BlobStore | undefined
  /** Called after each range that was read, and waited for. */
  readonly onFileBytes?: (bytes: number) => Promise<void>
}

/** Bytes of a file that are read in one call, so that no file or connection is open between two calls. */
const RANGE_BYTES = 4 * 1024 * 1024

/**
 * Checks the bytes of one file: they are the recorded ones, or gone if it was deleted, or have a pending deletion.
 * Returns false if they could not be checked without a blob store.
 */
export async function checkBytes(
  check: Check,
  { blobs, onFileBytes }: FileStores,
  file: FileRecord | DeletedFileRecord,
): Promise<boolean> {
  if (blobs === undefined && !('content' in file)) return false
  await check.guardAsync('blob', `blob/${file.id}`, async () => {
    if ('deletion' in file) return expectDeleted(check, blobs, file.id)
    const hash = createHash('sha256')
    let size: number | undefined
    for (let start = 0; start === 0 || start < file.size; start += RANGE_BYTES) {
      const end = Math.min(file.size, start + RANGE_BYTES)
      const blob = await rangeOf(file, blobs, { start, end })
      if (blob === undefined) return check.report('blob', `blob/${file.id}`, 'Its bytes are missing')
      for await (const chunk of blob.body) hash.update(chunk)
      size = blob.size
      await onFileBytes?.(end - start)
    }
    const isSame = size === file.size && hash.digest('hex') === file.sha256
    check.expect(isSame, 'blob', `blob/${file.id}`, 'Its bytes are not the bytes that were stored')
  })
  return true
}

/** An empty blob has no range. */
async function rangeOf(file: FileRecord, blobs: BlobStore | undefined, range: BlobRange) {
  if (file.content !== undefined) {
    const content = storedBase64(file.content, 'Its content')
    return { size: content.length, body: [content.subarray(range.start, range.end)] }
  }
  return blobs?.get(file.id, file.size === 0 ? undefined : range)
}

async function expectDeleted(check: Check, blobs: BlobStore | undefined, id: string): Promise<void> {
  if (blobs === undefined || (await check.get(keys.pendingDeletion(id))) !== undefined) return
  const size = await sizeIn(blobs, id)
  check.expect(size === undefined, 'blob', `blob/${id}`, 'The file was deleted, but its bytes are still stored')
}
