import { createHash } from 'node:crypto'
import type { BlobRange, BlobStore } from '../ports/index.ts'
import { keys } from '../store/keys.ts'
import type { DeletedFileRecord, FileRecord } from '../store/records.ts'
import { storedBase64 } from '../store/codec.ts'
import type { Check } from './check.ts'
import { sizeIn } from './copy-blobs.ts'

type Blobs = Pick<BlobStore, 'get'>

/**
 * Reads and hashes the bytes of every file. Those of a deleted file must be gone, or have a pending deletion. Without
 * `blobs`, only of the small files, whose bytes are in their records.
 */
export async function checkBlobs(check: Check, blobs: BlobStore | undefined): Promise<void> {
  for await (const page of check.pages(keys.files()))
    for (const entry of page) {
      const file = check.decode('file', entry)
      if (file === undefined) continue
      const isSmall = 'content' in file
      if (blobs === undefined && !isSmall) continue
      await checkBytes(check, blobs ?? NO_BLOBS, file)
      check.progress('blobs', 1)
    }
}

const NO_BLOBS: Blobs = { get: async () => undefined }

/** Bytes of a file that are read in one call, so that no file or connection is open between two calls. */
const RANGE_BYTES = 4 * 1024 * 1024

/**
 * Checks the bytes of one file: they are the recorded ones, or gone if it was deleted. Calls `onBytes` after each range
 * that was read, and waits for it.
 */
export async function checkBytes(
  check: Check,
  blobs: Blobs,
  file: FileRecord | DeletedFileRecord,
  onBytes?: (bytes: number) => Promise<void>,
): Promise<void> {
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
      await onBytes?.(end - start)
    }
    const isSame = size === file.size && hash.digest('hex') === file.sha256
    check.expect(isSame, 'blob', `blob/${file.id}`, 'Its bytes are not the bytes that were stored')
  })
}

/** An empty blob has no range. */
async function rangeOf(file: FileRecord, blobs: Blobs, range: BlobRange) {
  if (file.content !== undefined) {
    const content = storedBase64(file.content, 'Its content')
    return { size: content.length, body: [content.subarray(range.start, range.end)] }
  }
  return blobs.get(file.id, file.size === 0 ? undefined : range)
}

async function expectDeleted(check: Check, blobs: Blobs, id: string): Promise<void> {
  if ((await check.get(keys.pendingDeletion(id))) !== undefined) return
  const size = await sizeIn(blobs, id)
  check.expect(size === undefined, 'blob', `blob/${id}`, 'The file was deleted, but its bytes are still stored')
}
