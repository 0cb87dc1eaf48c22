import type { StagedFile } from '../../schemas/file-inputs.ts'
import type { AttachedFile } from '../../commitment/event-format.ts'

/** Whether a file can be shown as an image, by its media type. */
export const isImage = ({ mimeType }: { readonly mimeType: string }): boolean => mimeType.startsWith('image/')

/** All files of a write, the one that was given as its image first. If it is not an image, it is a file like others. */
export function givenFiles({ image: given, files = [] }: GivenFiles): {
  readonly image: StagedFile | undefined
  readonly files: readonly StagedFile[]
} {
  if (given === undefined) return { image: undefined, files }
  return { image: isImage(given) ? given : undefined, files: [given, ...files] }
}

interface GivenFiles {
  readonly image?: StagedFile | undefined
  readonly files?: readonly StagedFile[] | undefined
}

/** What an event commits to of the files that it attaches. */
export const attachedFiles = (staged: readonly StagedFile[]): Readonly<Record<string, AttachedFile>> =>
  Object.fromEntries(staged.map(({ id, mimeType, name, sha256, size }) => [id, { id, mimeType, name, sha256, size }]))
