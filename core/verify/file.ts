import { equalBytes, sha256, toHex } from '../bytes.ts'
import { fileHash, type AttachedFile } from '../commitment/event-format.ts'
import type { BlobDigest } from '../ports.ts'
import { openFilesMap, openOpening, parseFileText } from './event.ts'
import { hashOf, membersOf, refuse, textOf } from './untrusted.ts'

export interface FileCommitment {
  readonly fileId: string
  /** Hex, of the event that attached the file. */
  readonly txId: string
  /** Hex. */
  readonly opening: unknown
  readonly filesText: unknown
  /** Hex. */
  readonly filesSalt: unknown
}

/**
 * Checks a file's bytes against the event that attached it: content → the file's disclosed `{text, salt}` → the event's files map → opening →
 * txId. Answers what the event says of the file. `content` is the bytes, or their size and SHA-256 where they were too many
 * to hold. Throws `VERIFICATION_FAILED`.
 */
export function verifyFile(
  content: Uint8Array | BlobDigest,
  disclosed: unknown,
  { fileId, txId, opening, filesText, filesSalt }: FileCommitment,
): AttachedFile {
  const committed = openFilesMap(filesText, filesSalt, openOpening(opening, txId)).get(fileId)
  if (committed === undefined) throw refuse(`The event does not hold the file ${fileId}`)
  const { text, salt } = membersOf(disclosed, 'The disclosed file')
  const exact = textOf(text, "The file's text")
  if (!equalBytes(fileHash(hashOf(salt, "The file's salt"), exact), committed))
    throw refuse(`The file ${fileId} does not hash to what the event commits to`)
  const file = parseFileText(exact, fileId)
  if ('deleted' in file) throw refuse(`The event deletes the file ${fileId}`)
  assertContent(content, file)
  return file
}

/** Throws unless the content has the size and SHA-256 that the event says. */
export function assertContent(content: Uint8Array | BlobDigest, file: AttachedFile): void {
  const { size, sha256: hash } =
    content instanceof Uint8Array ? { size: content.length, sha256: sha256(content) } : content
  if (size !== file.size) throw refuse(`The file ${file.id} has ${size} bytes, the event says ${file.size}`)
  if (toHex(hash) !== file.sha256) throw refuse(`The file ${file.id} has other bytes than the event says`)
}
