import type { FileEntry, StagedFile } from '../../api/files.ts'
import { RegistryError } from '../../errors.ts'
import type { Write } from '../../ports/index.ts'
import { pendingDeletion } from '../../store/blob-lifecycle.ts'
import { lastPartOfKey } from '../../store/key.ts'
import { keys } from '../../store/keys.ts'
import { listEntries, listedRecords } from '../../store/read.ts'
import { decodeRecord, putRecord } from '../../store/record-codec.ts'
import type { DeletedFileRecord, FileRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'

export const fileNotFound = (): RegistryError =>
  new RegistryError('FILE_NOT_FOUND', 'There is no such file, or another entity owns it')

/** The entity that files belong to. `version`: of the event that attached them, 0 for categories. */
export type FileOwnerRef = Pick<FileRecord, 'company' | 'ownerKind' | 'ownerId' | 'version'>

/** The writes that give staged files to an owner. */
export const attachFiles = (files: readonly StagedFile[], owner: FileOwnerRef): readonly Write[] =>
  files.flatMap(({ intent: _, ...file }) => [
    putRecord(keys.file(file.id), { ...file, ...owner } satisfies FileRecord),
    { key: keys.fileOf(owner.ownerId, file.id), value: new Uint8Array() },
  ])

/** The writes that remove a category's file from every list, and have its bytes deleted. */
export const removeFile = (ownerId: string, fileId: string, now: number): readonly Write[] => [
  { key: keys.file(fileId), value: null },
  { key: keys.fileOf(ownerId, fileId), value: null },
  pendingDeletion(fileId, now),
]

/** The files of an owner, oldest first. */
export async function listFiles({ records }: Context, ownerId: string): Promise<readonly FileEntry[]> {
  const listing = await listEntries(records, keys.filesOf(ownerId))
  const entries = await listedRecords(records, listing, (key) => keys.file(lastPartOfKey(key)))
  return (
    entries
      .map((entry) => decodeRecord<FileRecord | DeletedFileRecord>(entry))
      // A file that was deleted between the two reads.
      .filter((file): file is FileRecord => !('deletion' in file))
      .map(({ id, name, title, mimeType, version }) => ({ id, name, title, mimeType, eventVersion: version }))
  )
}
