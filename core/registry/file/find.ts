import type { FileInfo, Files } from '../../api/files.ts'
import { FileSelector } from '../../schemas/file-inputs.ts'
import type { CompanyId } from '../../api/scope.ts'
import { isId } from '../../ids.ts'
import { keys } from '../../store/keys.ts'
import { danglingReference, requireRecord, type Read } from '../../store/read.ts'
import { textOf } from '../../store/codec.ts'
import type { DeletedFileRecord, FileRecord } from '../../store/records.ts'
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
  const { record, check } = await readFileRecord(context, fileId)
  if (record.company !== companyId || 'deletion' in record) throw fileNotFound()
  const owners = await ownersOf(context, record)
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

async function readFileRecord({ records }: Context, fileId: string): Promise<Read<FileRecord | DeletedFileRecord>> {
  if (!isId(fileId)) throw fileNotFound()
  return requireRecord(records, keys.file(fileId), fileNotFound)
}

/** The entities that a selector can name as owners of a file. */
async function ownersOf(
  { records }: Context,
  { company, ownerKind, ownerId }: FileRecord,
): Promise<Omit<FileSelector, 'fileId'>> {
  if (ownerKind === 'category') {
    const { record } = await requireRecord(records, keys.category(company, ownerId), fileNotFound)
    return record.parentId === undefined
      ? { categoryId: ownerId }
      : { categoryId: record.parentId, subcategoryId: ownerId }
  }
  const { record } = await requireRecord(records, keys.evidence(company, ownerId), () =>
    danglingReference(`A file`, `evidence ${ownerId}`),
  )
  return { externalId: record.externalId, categoryId: record.categoryId, subcategoryId: record.subcategoryId }
}
