import type { ProofClaims } from './proof-result.ts'
import { verificationError } from '../errors.ts'

/** What a proof must be about. Each value comes from a source that the verifier trusts. */
export interface Expectation {
  /** Hex. For example from the response that recorded the event. */
  readonly txId?: string
  /** The evidence's internal or external id. It is proven only if the document discloses the field. */
  readonly evidenceId?: string
  readonly fileId?: string
  /** SHA-256 of the file's content, hex. It is proven only if the document discloses the file. */
  readonly fileSha256?: string
}

/** Throws `VERIFICATION_FAILED` unless the claims prove all that is expected. */
export function checkExpected(expected: Expectation, claims: ProofClaims | undefined): true {
  const { txId, evidenceId, fileId, fileSha256 } = expected
  if (claims === undefined) throw verificationError('Nothing is proven that could be compared')
  if (txId !== undefined && claims.txId !== txId.toLowerCase())
    throw verificationError(`The proof is for another event than ${txId}`)
  if (fileId !== undefined && claims.file?.fileId !== fileId)
    throw verificationError(`The proof is not for the file ${fileId}`)
  if (evidenceId !== undefined) assertEvidence(claims, evidenceId)
  if (fileSha256 !== undefined && claims.file?.attached?.sha256 !== fileSha256.toLowerCase())
    throw verificationError(
      claims.file?.attached === undefined
        ? 'The proof does not disclose the SHA-256 of a file: it cannot be compared'
        : 'The file has another SHA-256',
    )
  return true
}

function assertEvidence({ disclosed }: ProofClaims, evidenceId: string): void {
  const ids = [disclosed?.fields.get('evidence'), disclosed?.fields.get('externalId')]
  if (ids.includes(evidenceId)) return
  throw verificationError(
    ids.every((id) => id === undefined)
      ? 'The proof does not disclose which evidence it is for: compare the txId instead'
      : 'The proof is for another evidence',
  )
}
