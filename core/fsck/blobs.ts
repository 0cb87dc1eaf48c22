import { createHash } from 'node:crypto'
import { keys } from '../store/keys.ts'
import type { BlobStore } from '../ports.ts'
import type { DeletedFileRecord, FileRecord } from '../store/records.ts'
import type { Check } from './check.ts'

/** Reads the bytes of every file that is there, and hashes them again. A deleted one's bytes are gone, or doomed. */
export async function checkBlobs(check: Check, blobs: BlobStore): Promise<void> {
  for await (const page of check.pages(keys.files()))
    for (const entry of page) {
      const file = check.decode<FileRecord | DeletedFileRecord>('file', entry)
      if (file === undefined) continue
      if ('deletion' in file) await expectGone(check, blobs, file.id)
      else await checkBlob(check, blobs, file)
      check.progress('blobs', 1)
    }
}

async function checkBlob(check: Check, blobs: BlobStore, { id, size, sha256 }: FileRecord): Promise<void> {
  try {
    const blob = await blobs.get(id)
    if (blob === undefined) return check.differ('blob', `blob/${id}`, 'Its bytes are missing')
    const hash = createHash('sha256')
    for await (const chunk of blob.body) hash.update(chunk)
    const same = blob.size === size && hash.digest('hex') === sha256
    check.expect(same, 'blob', `blob/${id}`, 'Its bytes are not those that were put')
  } catch (error) {
    check.differ(
      'blob',
      `blob/${id}`,
      `Its bytes cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

async function expectGone(check: Check, blobs: BlobStore, id: string): Promise<void> {
  if ((await check.one(keys.pendingDeletion(id))) !== undefined) return
  const blob = await blobs.get(id)
  if (blob === undefined) return
  await blob.body[Symbol.asyncIterator]().return?.()
  check.differ('blob', `blob/${id}`, 'The file was deleted, but its bytes are there')
}
