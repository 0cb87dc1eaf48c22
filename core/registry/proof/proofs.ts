import type { Proofs } from '../../api/proofs.ts'
import type { Context } from '../context.ts'
import { proveEvidence } from './evidence.ts'
import { proveFile } from './file.ts'
import { describeRoot, proveTransaction, timestampToken } from './transaction.ts'
import { validatePath } from './validate.ts'

/** Available to anyone, so no operation takes a scope. */
export const proofOperations = (context: Context): Proofs => ({
  validate: (request) => validatePath(context.log, request),
  evidence: (evidence) => proveEvidence(context, evidence),
  file: (file) => proveFile(context, file),
  transaction: (txId) => proveTransaction(context, txId),
  root: (txId) => describeRoot(context, txId),
  timestampToken: (batchId) => timestampToken(context, batchId),
})
