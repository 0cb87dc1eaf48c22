import { equalBytes } from '../bytes.ts'
import { fileHash } from '../commitment/event-format.ts'
import { parseFileText, verifyFilesMap, verifyOpening } from './event.ts'
import type { ShownProof } from './proof-document.ts'
import type { EventClaims, FileClaim } from './proof-result.ts'
import { verificationError } from '../errors.ts'
import { asHash, asObject, asString } from './untrusted.ts'

/**
 * Verifies that the event of `deletion` deletes the file of the document, and that the document's own event attached
 * it: the deletefile event commits to the file's id and to the txId of the event that attached the file.
 *
 * @param event What is proven of the document's own event.
 * @param deletion What is proven of the event of `deletion`.
 * @throws `VERIFICATION_FAILED`
 */
export function checkDeletion(
  { event: { members }, deletion: shown }: ShownProof,
  event: EventClaims | undefined,
  deletion: EventClaims | undefined,
): Pick<FileClaim, 'fileId' | 'state'> {
  if (event?.file === undefined || deletion === undefined || shown === undefined)
    throw verificationError('The file and both events must be proven first')
  const { fileId } = event.file
  const { opening, txId, filesText, filesSalt, file } = shown.members
  const committed = verifyFilesMap(filesText, filesSalt, verifyOpening(opening, txId)).get(fileId)
  if (committed === undefined) throw verificationError(`The event of the deletion does not hold the file ${fileId}`)
  const { text, salt } = asObject(file, "The deletion's file")
  const fileText = asString(text, "The text of the deletion's file")
  if (!equalBytes(fileHash(asHash(salt, "The salt of the deletion's file"), fileText), committed))
    throw verificationError('The file of the deletion does not hash to the value that the event commits to')
  const deleted = parseFileText(fileText, fileId)
  if (!('deleted' in deleted)) throw verificationError('The event of the deletion attaches the file')
  if (deleted.deleted !== members['txId'])
    throw verificationError('The deletion is of a file that another event attached')
  if (deletion.log.leafIndex <= event.log.leafIndex)
    throw verificationError('The deletion is in the log before the event that attached the file')
  return { fileId, state: 'deleted' }
}
