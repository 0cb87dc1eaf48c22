import { equalBytes, sha256, toHex } from '../bytes.ts'
import { fileHash, type AttachedFile } from '../commitment/event-format.ts'
import type { BlobDigest } from '../ports/index.ts'
import { verifyFilesMap, verifyOpening, parseFileText } from './event.ts'
import { verificationError } from '../errors.ts'
import { asHash, asObject, asString } from './untrusted.ts'

/**
 * The event that attached a file. `fileId` and `txId` must be trusted, the other members may be untrusted JSON values.
 */
export interface FileCommitment {
  readonly fileId: string
  /** Hex. */
  readonly txId: string
  /** The event's opening, hex. */
  readonly opening: unknown
  /** The exact text of the event's files map. */
  readonly filesText: unknown
  /** The salt of the files map, hex. */
  readonly filesSalt: unknown
}

/**
 * Verifies a file's bytes against the event that attached it: content → the file's disclosed `{text, salt}` → the
 * event's files map → opening → txId.
 *
 * @param content The file's bytes, or their size and SHA-256 if the file is too large for memory.
 * @param disclosed The file's `{text, salt}`. Untrusted.
 * @returns Id, name, MIME type, size and SHA-256 of the file, as the event commits to them.
 * @throws `VERIFICATION_FAILED` with the first check that failed.
 */
export function verifyFile(
  content: Uint8Array | BlobDigest,
  disclosed: unknown,
  { fileId, txId, opening, filesText, filesSalt }: FileCommitment,
): AttachedFile {
  const committed = verifyFilesMap(filesText, filesSalt, verifyOpening(opening, txId)).get(fileId)
  if (committed === undefined) throw verificationError(`The event does not hold the file ${fileId}`)
  const { text, salt } = asObject(disclosed, 'The disclosed file')
  const fileText = asString(text, "The file's text")
  if (!equalBytes(fileHash(asHash(salt, "The file's salt"), fileText), committed))
    throw verificationError(`The file ${fileId} does not hash to the value that the event commits to`)
  const file = parseFileText(fileText, fileId)
  if ('deleted' in file) throw verificationError(`The event deletes the file ${fileId}`)
  assertContent(content, file)
  return file
}

/**
 * Compares a file's content with a verified event (`VerifiedEvent.files`).
 *
 * @param content The file's bytes, or their size and SHA-256.
 * @throws `VERIFICATION_FAILED` if the size or the SHA-256 differs.
 */
export function assertContent(content: Uint8Array | BlobDigest, file: AttachedFile): void {
  const { size, sha256: hash } =
    content instanceof Uint8Array ? { size: content.length, sha256: sha256(content) } : content
  if (size !== file.size) throw verificationError(`The file ${file.id} must have ${file.size} bytes, got ${size}`)
  if (toHex(hash) !== file.sha256)
    throw verificationError(`The file ${file.id} does not have the SHA-256 that the event commits to`)
}
