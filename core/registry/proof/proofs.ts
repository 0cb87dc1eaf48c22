import type { Proofs } from '../../api/proofs.ts'
import { enterCompany } from '../permissions.ts'
import type { Context } from '../context.ts'
import { bundleHistory, bundlePublic, type BundleSources } from './bundle.ts'
import { proveEvidence, EvidenceProofJsons } from './evidence.ts'
import { proveFile } from './file.ts'
import { describeRoot, proveTransaction, timestampToken, validatePath } from './transaction.ts'

/** Available to anyone, except `bundle`. */
export const proofOperations = (context: Context, sources: BundleSources): Proofs => {
  const jsons = new EvidenceProofJsons()
  return {
    validate: (request) => validatePath(context.log, request),
    evidence: (evidence) => proveEvidence(context, evidence),
    evidenceJson: (evidence) => jsons.get(context, evidence),
    file: (file) => proveFile(context, file),
    transaction: (txId) => proveTransaction(context, txId),
    root: (txId) => describeRoot(context, txId),
    bundle: async (scope, selection) =>
      bundleHistory(context, sources, await enterCompany(context, scope, 'R'), selection),
    publicBundle: (subject) => bundlePublic(context, sources, subject),
    timestampToken: (batchId) => timestampToken(context, batchId),
  }
}
