import Type from '#typebox'
import { closed, Hash, Id, IdToFind, Line, opt } from '../../schemas/fields.ts'

/** The same as the input types in core/api/files.ts. */

const MimeType = Type.String({
  pattern: '^[\\x20-\\x7e]{1,255}$',
  description: 'a string of 1 to 255 printable ASCII characters',
})

/** Without the body, which is not JSON. The name is not limited, because the registry shortens it. */
export const fileToStageSchema = closed({
  name: Type.String({ description: 'a string' }),
  mimeType: MimeType,
  title: opt(Line),
})

export const stagedFileSchema = closed(
  {
    id: Id,
    name: Type.String(),
    mimeType: MimeType,
    title: Line,
    size: Type.Integer({ minimum: 0 }),
    sha256: Hash,
    content: opt(Type.String()),
    intent: opt(Type.String()),
  },
  { description: 'a file that files.stage returned' },
)

export const fileSelectorSchema = closed({
  fileId: IdToFind,
  externalId: opt(IdToFind),
  categoryId: opt(IdToFind),
  subcategoryId: opt(IdToFind),
})
