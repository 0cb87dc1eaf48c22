import type { RecordStore, Write } from '../ports/index.ts'
import { keys } from '../store/keys.ts'
import { putRecord } from '../store/entries.ts'
import { readOne, readRecord } from '../store/read.ts'

/**
 * Shared records name the store of their files by its id, so that no server joins them with files of its own: a client
 * of another server would not find what was stored there.
 */
export const storedBlobStore = async (records: RecordStore): Promise<string | undefined> =>
  (await readOne(records, keys.blobStore()))?.id

/** The write that names the blob store, `undefined`: none. */
export const blobStoreName = (id: string | undefined): Write =>
  id === undefined ? { key: keys.blobStore(), value: null } : putRecord(keys.blobStore(), { id })

/** Names the blob store, if it was `before` until now. Returns false if the records then name another one. */
export async function nameBlobStore(records: RecordStore, id: string, before: string | undefined): Promise<boolean> {
  const read = await readRecord(records, keys.blobStore())
  const check = read?.check ?? { key: keys.blobStore(), version: null }
  if (read?.record.id === before) await records.commit({ checks: [check], writes: [blobStoreName(id)] })
  return (await storedBlobStore(records)) === id
}
