import type { FileInfo, Files } from '../../api/files.ts'
import { FileSelector } from '../../schemas/file-inputs.ts'
import type { CompanyId } from '../../api/scope.ts'
import { isId } from '../../ids.ts'
import type { RecordStore } from '../../ports/index.ts'
import { keys } from '../../store/keys.ts'
import {
  assertNeverStored,
  danglingReference,
  readEntry,
  readRecord,
  readReferred,
  requireRecord,
  type Read,
} from '../../store/read.ts'
import { textOf } from '../../store/codec.ts'
import type { CategoryRecord, DeletedFileRecord, FileRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { assertCompany, authorizeFile } from '../permissions.ts'
import { validate } from '../../schemas/validation.ts'
import { fileNotFound } from './stored-file.ts'

/** Finds a file for those who may read the company, and for the holder of a token for it. */
export const findFile =
  (context: Context): Files['find'] =>
  async (scope, selector) => {
    const entered = authorizeFile(scope, selector.fileId)
    await assertCompany(context, entered)
    return fileInfo(context, entered.companyId, selector)
  }

/** What a caller learns of a file. Throws as `selectFile`. */
export async function fileInfo(context: Context, companyId: CompanyId, selector: FileSelector): Promise<FileInfo> {
  const { record } = await selectFile(context, companyId, selector)
  const { id, name, mimeType, size, sha256 } = record
  return { id, name, mimeType, size, sha256 }
}

/** The record of a file. Throws `FILE_NOT_FOUND` unless the file is in this company and every named entity owns it. */
export async function selectFile(
  context: Context,
  companyId: CompanyId,
  selector: FileSelector,
): Promise<Read<FileRecord>> {
  const { fileId, ...named } = validate(FileSelector, selector)
  const { record, check } = await readFileRecord(context, companyId, { ...named, fileId })
  if (record.company !== companyId || 'deletion' in record) throw fileNotFound()
  const owners = await ownersOf(context, { record, check })
  for (const name of ['categoryId', 'subcategoryId'] as const)
    if (named[name] !== undefined && named[name] !== owners[name]) throw fileNotFound()
  const { externalId } = named
  if (externalId !== undefined && externalId !== owners.externalId) await assertListedWith(context, record, externalId)
  return { record, check }
}

/** An evidence also lists the files of its category and subcategory. Throws `FILE_NOT_FOUND` for any other file. */
async function assertListedWith(
  { records }: Context,
  { company, ownerKind, ownerId }: FileRecord,
  externalId: string,
): Promise<void> {
  if (ownerKind === 'evidence') throw fileNotFound()
  const [name] = await records.get([keys.externalId(company, externalId)])
  if (name === undefined) throw fileNotFound()
  const id = textOf(name)
  const { record } = await requireRecord(records, keys.evidence(company, id), () =>
    danglingReference('An external id', `evidence ${id}`),
  )
  if (record.categoryId !== ownerId && record.subcategoryId !== ownerId) throw fileNotFound()
}

/** Throws `CORRUPT` if the store has lost the record, as far as the named owners and the records beside it show. */
async function readFileRecord(
  { records }: Context,
  companyId: CompanyId,
  { fileId, externalId, categoryId, subcategoryId }: FileSelector,
): Promise<Read<FileRecord | DeletedFileRecord>> {
  if (!isId(fileId)) throw fileNotFound()
  const read = await readRecord(records, keys.file(fileId))
  if (read !== undefined) return read
  const [name] = externalId === undefined ? [] : await records.get([keys.externalId(companyId, externalId)])
  const owners = [name && textOf(name), categoryId, subcategoryId].filter((owner) => owner !== undefined)
  await assertNeverStored(records, keys.file(fileId), {
    beside: owners.map((owner) => keys.fileOf(companyId, owner, fileId)),
    family: keys.files(),
  })
  throw fileNotFound()
}

/** The category that owns a file. Throws `FILE_NOT_FOUND` if both were removed meanwhile. */
export async function readOwner(
  records: RecordStore,
  { record: { company, ownerId }, check }: Read<Extract<FileRecord, { readonly ownerKind: 'category' }>>,
): Promise<Read<CategoryRecord>> {
  const owner = await readReferred(records, check, keys.category(company, ownerId))
  if (owner === undefined) throw fileNotFound()
  return readEntry(owner)
}

/** The entities that a selector can name as owners of a file. */
async function ownersOf(
  { records }: Context,
  { record: file, check }: Read<FileRecord>,
): Promise<Omit<FileSelector, 'fileId'>> {
  if (file.ownerKind === 'category') {
    const { record } = await readOwner(records, { record: file, check })
    const { id, parentId } = record
    return parentId === undefined ? { categoryId: id } : { categoryId: parentId, subcategoryId: id }
  }
  const { record } = await requireRecord(records, keys.evidence(file.company, file.ownerId), () =>
    danglingReference(`A file`, `evidence ${file.ownerId}`),
  )
  return { externalId: record.externalId, categoryId: record.categoryId, subcategoryId: record.subcategoryId }
}
