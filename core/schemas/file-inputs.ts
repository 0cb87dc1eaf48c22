import Type from '#typebox'
import type { Version } from '../ports/index.ts'
import { closed, FileId, Hash, IdToFind, type Input, Line, opt } from './fields.ts'

/** What the operations on files take, and the files that other operations take. */

const MimeType = Type.String({
  pattern: '^[\\x20-\\x7e]{1,255}$',
  description: 'a string of 1 to 255 printable ASCII characters',
})

export const FileToStage = closed({
  /** As the client named it. The registry keeps the last path segment and strips control characters. */
  name: Type.String({ description: 'a string' }),
  /** 1 to 255 printable ASCII characters. */
  mimeType: MimeType,
  title: opt(Line),
})
/** A file to store. */
export interface FileToStage extends Input<typeof FileToStage> {
  readonly body: AsyncIterable<Uint8Array>
}

const stagedFile = closed(
  {
    id: FileId,
    name: Type.String(),
    mimeType: MimeType,
    title: Line,
    /** Bytes. */
    size: Type.Integer({ minimum: 0 }),
    /** SHA-256 of the content, lowercase hex. */
    sha256: Hash,
    /** The bytes of a small file, in base64. Either this or `intent` is given. */
    content: opt(Type.String()),
    /** Version of the upload-intent record that the write consumes. */
    intent: opt(Type.Unsafe<Version>(Type.String())),
  },
  { description: 'a file that files.stage returned' },
)
/**
 * A file that no record uses yet. Pass it to one write, or discard it. The bytes of a small file (see `smallFileBytes`
 * of `openRegistry`) are part of it, and that write stores them. Those of others are stored already.
 */
export type StagedFile = Input<typeof stagedFile>
export const StagedFile = Type.Unsafe<StagedFile>(stagedFile)

export const StagedFiles = Type.Array(StagedFile, { description: 'an array of staged files' })

export const FileSelector = closed({
  fileId: IdToFind,
  /** External id of the evidence that must list the file: as its own, or as one of its category or subcategory. */
  externalId: opt(IdToFind),
  categoryId: opt(IdToFind),
  subcategoryId: opt(IdToFind),
})
/** Names a file, and optionally the entities that must own it. */
export type FileSelector = Input<typeof FileSelector>
