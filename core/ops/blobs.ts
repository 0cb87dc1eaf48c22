import { createHash } from 'node:crypto'
import type { BlobStore } from '../ports/index.ts'
import { keys } from '../store/keys.ts'
import type { DeletedFileRecord, FileRecord } from '../store/records.ts'
import { contentOf } from '../store/small-files.ts'
import type { Check } from './check.ts'

type Blobs = Pick<BlobStore, 'get'>

/**
 * Reads and hashes the bytes of every file. Those of a deleted file must be gone, or have a pending deletion. Without
 * `blobs`, only of the small files, whose bytes are in their records.
 */
export async function checkBlobs(check: Check, blobs: BlobStore | undefined): Promise<void> {
  for await (const page of check.pages(keys.files()))
    for (const entry of page) {
      const file = check.decode<FileRecord | DeletedFileRecord>('file', entry)
      if (file === undefined) continue
      const isSmall = 'content' in file
      if (blobs === undefined && !isSmall) continue
      await checkBytes(check, blobs ?? NO_BLOBS, file)
      check.progress('blobs', 1)
    }
}

const NO_BLOBS: Blobs = { get: async () => undefined }

/** Checks the bytes of one file: they are the recorded ones, or gone if it was deleted. */
export async function checkBytes(check: Check, blobs: Blobs, file: FileRecord | DeletedFileRecord): Promise<void> {
  await check.guardAsync('blob', `blob/${file.id}`, () =>
    'deletion' in file ? expectDeleted(check, blobs, file.id) : expectBytes(check, blobs, file),
  )
}

async function expectBytes(check: Check, blobs: Blobs, file: FileRecord): Promise<void> {
  const name = `blob/${file.id}`
  const content = contentOf(file)
  const blob = content === undefined ? await blobs.get(file.id) : { size: content.length, body: [content] }
  if (blob === undefined) return check.report('blob', name, 'Its bytes are missing')
  const hash = createHash('sha256')
  for await (const chunk of blob.body) hash.update(chunk)
  const isSame = blob.size === file.size && hash.digest('hex') === file.sha256
  check.expect(isSame, 'blob', name, 'Its bytes are not the bytes that were stored')
}

async function expectDeleted(check: Check, blobs: Blobs, id: string): Promise<void> {
  if ((await check.get(keys.pendingDeletion(id))) !== undefined) return
  const blob = await blobs.get(id)
  if (blob === undefined) return
  await blob.body[Symbol.asyncIterator]().return?.()
  check.report('blob', `blob/${id}`, 'The file was deleted, but its bytes are still stored')
}
