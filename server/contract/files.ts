import Type, { type Static } from '#typebox'
import { isImage, type FileEntry as CoreFileEntry, type FileSelector as CoreFileSelector } from '../../core/index.ts'
import { Base64, closed, DateTime, defined, Hash, Id, IdInput, opt } from './values.ts'

/** A file in a listing. */
export const FileEntry = closed({
  name: Type.String(),
  overlayId: Id,
  mimeType: Type.String(),
  title: Type.String(),
  iconId: opt(Id),
  eventId: Type.Integer({
    minimum: 0,
    description: 'Version of the event that attached it, 0 for files of categories',
  }),
  size: Type.Integer({ minimum: 0, description: 'Bytes' }),
  sha256: Type.Unsafe<string>({ ...Hash, description: 'Of the content, lowercase hex' }),
  createdAt: Type.Unsafe<Date>({ ...DateTime, description: 'When its upload began' }),
})
export type FileEntry = Static<typeof FileEntry>

/** Files by whose they are: of the evidence, of its category, of its subcategory. */
export const FileListing = closed({
  dt: Type.Array(FileEntry),
  category: Type.Array(FileEntry),
  subcategory: Type.Array(FileEntry),
})
export type FileListing = Static<typeof FileListing>

/** A file, and the owners that it must have. */
export const FileSelector = closed({
  fileId: Type.String(),
  evidenceId: opt(Type.String()),
  categoryId: opt(Type.String()),
  subcategoryId: opt(Type.String()),
})
export type FileSelector = Static<typeof FileSelector>

/** As `FileSelector`. A token replaces the key and the id of the file. */
export const DownloadQuery = closed({
  fileId: opt(Type.String({ description: 'Id of the file; not needed with a token' })),
  evidenceId: opt(Type.String({ description: 'External id of the evidence that must own the file' })),
  categoryId: opt(Type.String({ description: 'Category that must own the file' })),
  subcategoryId: opt(Type.String({ description: 'Subcategory that must own the file' })),
  mimeType: opt(Type.String({ description: 'Content-Type of the response. Default: the stored type' })),
  token: opt(Type.String({ description: 'Opens one file for five minutes without a key' })),
})

/** How the content of a file is sent. */
export const FILE_CONTENT = {
  response: {
    media: 'application/octet-stream',
    description: 'The content. Its Content-Type is that of the file',
    others: { 206: 'One range of the content', 304: 'You have it already' },
  },
  headers: ['Content-Disposition', 'Accept-Ranges'],
} as const

/** The file that a token will open. */
export const TokenRequest = closed({ fileId: IdInput })
/** A secret in a URL, so it is short-lived and opens one file only. */
export const FileToken = closed({ token: Type.String(), expiresAt: DateTime })

/** A file in a JSON body. */
export const InlineImage = closed(
  { name: opt(Type.String()), mimeType: opt(Type.String()), data: Base64 },
  { description: '{name?, mimeType, data} with data in base64, or {name?, data} with a data URL; at most 5 MiB' },
)

/** `evidenceId` is the external id of an evidence. */
export const fileSelector = ({ fileId, evidenceId, categoryId, subcategoryId }: FileSelector): CoreFileSelector => ({
  fileId,
  ...defined({ externalId: evidenceId, categoryId, subcategoryId }),
})

/** `iconId` tells a client that the file can be shown as an image. */
export const fileEntry = ({ id, eventVersion, ...file }: CoreFileEntry): FileEntry => ({
  ...file,
  overlayId: id,
  ...(isImage(file) && { iconId: id }),
  eventId: eventVersion,
})
