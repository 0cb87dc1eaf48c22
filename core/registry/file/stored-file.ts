import type { FileEntry } from '../../api/files.ts'
import type { StagedFile } from '../../schemas/file-inputs.ts'
import type { CategoryId, CompanyId, EvidenceId } from '../../api/scope.ts'
import { fromBase64, sha256, toHex } from '../../bytes.ts'
import { RegistryError } from '../../errors.ts'
import { timeOfId } from '../../ids.ts'
import type { Add, Stored, Write } from '../../ports/index.ts'
import { consume, pendingDeletion, MAX_SMALL_FILE_BYTES } from '../../store/blob-lifecycle.ts'
import { listCounted } from '../../store/counted.ts'
import { readCount } from '../../store/counter.ts'
import { fileEntries } from '../../store/derived.ts'
import { keys, lastPartOfKey } from '../../store/keys.ts'
import { listEntries, listedRecords } from '../../store/read.ts'
import { decodeRecord } from '../../store/codec.ts'
import { putRecord } from '../../store/entries.ts'
import type { DeletedFileRecord, FileRecord, FileOwner } from '../../store/records.ts'
import type { Context } from '../context.ts'
import type { Json } from '../../commitment/canonical-json.ts'
import type { Attempt, CommitPart } from '../write.ts'
import { invalidInput } from '../../schemas/validation.ts'

/** The error for a file that does not exist here. */
export const fileNotFound = (): RegistryError =>
  new RegistryError('FILE_NOT_FOUND', 'There is no such file, or another entity owns it')

/**
 * The part of a commit that gives staged files to an owner. It holds while no other write has used them.
 *
 * Throws `VALIDATION_ERROR` for a file that is given twice, and for one that `stage` cannot have returned,
 * `FILE_NOT_FOUND` if the attempt before failed because a file was used or discarded: it does not come back.
 */
export function attachFiles(files: readonly StagedFile[], owner: FileOwner, { conflicts }: Attempt): CommitPart {
  if (new Set(files.map(({ id }) => id)).size < files.length)
    throw invalidInput('files', 'must not contain a staged file twice')
  for (const file of files) assertStaged(file)
  const used = consume(files.flatMap(({ id, intent }) => (intent === undefined ? [] : [{ id, intent }])))
  const small = files.filter(({ content }) => content !== undefined)
  const checks = [...used.checks, ...small.map(({ id }) => ({ key: keys.file(id), version: null }))]
  if (checks.some(({ key }) => conflicts.includes(key)))
    throw new RegistryError('FILE_NOT_FOUND', 'A staged file was used or discarded before: stage it again')
  return {
    checks,
    writes: [
      ...used.writes,
      ...files.flatMap(({ intent: _, ...file }) => [
        putRecord(keys.file(file.id), { ...file, ...owner }),
        ...fileEntries({ ...file, ...owner }),
      ]),
    ],
    adds: countFiles(owner, files.length),
  }
}

/** Counts files that an owner gets, or loses. */
export const countFiles = ({ company, ownerId }: OwnerOfFiles, delta: number): readonly Add[] =>
  delta === 0 ? [] : [keys.fileCount(company), keys.fileCount(company, ownerId)].map((key) => ({ key, delta }))

type OwnerOfFiles = Pick<FileOwner, 'company' | 'ownerId'>

/** The input of a write with each staged file without its id and upload, because a repeated call stages it again. */
export function withFileContents(input: object): object {
  const { image, files }: { readonly image?: StagedFile; readonly files?: readonly StagedFile[] } = input
  return { ...input, image: image && comparable(image), files: files?.map(comparable) }
}

const comparable = ({ sha256: hash, name, mimeType, title }: StagedFile): Json => [hash, name, mimeType, title]

/** A name without its extension: the title of a file that was given none. */
export const titleOf = (name: string): string => name.replace(/(?<=.)\.[^.]*$/, '')

/** A file has either an upload intent or its content. The caller may have stored it, so its hash is computed again. */
function assertStaged(file: StagedFile): void {
  const isStaged =
    file.content === undefined ? file.intent !== undefined : file.intent === undefined && hasContent(file)
  if (!isStaged) throw invalidInput('files', 'must be files that files.stage returned, unchanged')
}

function hasContent({ content = '', size, ...file }: StagedFile): boolean {
  const bytes = fromBase64(content)
  return bytes?.length === size && size <= MAX_SMALL_FILE_BYTES && toHex(sha256(bytes)) === file.sha256
}

/**
 * The writes that remove a file from every list, and have its bytes deleted. A small file has no blob; deleting one
 * that does not exist changes nothing. `left`: what is left of a file of an evidence.
 */
export const removeFile = (
  { company, ownerId }: OwnerOfFiles,
  fileId: string,
  now: number,
  left?: DeletedFileRecord,
): readonly Write[] => [
  left === undefined ? { key: keys.file(fileId), value: null } : putRecord(keys.file(fileId), left),
  { key: keys.fileOf(company, ownerId, fileId), value: null },
  pendingDeletion(fileId, now),
]

/** The entries of the files of an owner, oldest first. Throws `CORRUPT` if one is lost. */
export async function listFileEntries(
  { records }: Context,
  { company, ownerId }: OwnerOfFiles,
): Promise<readonly Stored[]> {
  const { entries } = await listCounted({
    name: `The list of the files of ${ownerId}`,
    count: () => readCount(records, [keys.fileCount(company, ownerId)]),
    read: () => listEntries(records, keys.filesOf(company, ownerId)),
  })
  return entries
}

/** The files of an owner, oldest first. */
export async function listFiles(
  context: Context,
  company: CompanyId,
  ownerId: EvidenceId | CategoryId,
): Promise<readonly FileEntry[]> {
  const { records } = context
  const listing = await listFileEntries(context, { company, ownerId })
  const entries = await listedRecords(records, listing, (key) => keys.file(lastPartOfKey(key)))
  return (
    entries
      .map((entry) => decodeRecord(entry))
      // A file that was deleted between the two reads.
      .filter((file): file is FileRecord => !('deletion' in file))
      .map(({ id, name, title, mimeType, version: eventVersion, size, sha256: hash }) => {
        const createdAt = new Date(timeOfId(id))
        return { id, name, title, mimeType, eventVersion, size, sha256: hash, createdAt }
      })
  )
}
