import type { Proofs } from '../../api/proofs.ts'
import type { Context } from '../context.ts'
import { bundleEvent, bundleHistory, bundlePublic } from './bundle.ts'
import type { BundleSources } from './vouchers.ts'
import { proveEvidenceIfChanged } from './evidence.ts'
import { proveFile } from './file.ts'
import { BatchAttestations } from './log-proof.ts'
import { exportCompany } from './export.ts'
import { proveAsText } from './tlog-proof.ts'
import { describeRoot, proveTransaction, timestampToken, validatePath } from './transaction.ts'

/** The operations on proofs, available to anyone, except `bundle`. Their contract is `Proofs`. */
export const proofOperations = (registry: Context, sources: BundleSources): Proofs => {
  const context = { ...registry, attestations: new BatchAttestations(registry.log) }
  const evidenceIfChanged = proveEvidenceIfChanged(context)
  return {
    validate: validatePath(context.log),
    evidence: (selector) => evidenceIfChanged<never>(selector, undefined),
    evidenceIfChanged,
    file: proveFile(context),
    transaction: proveTransaction(context),
    tlogProof: proveAsText(context, sources),
    root: describeRoot(context),
    bundle: bundleHistory(context, sources),
    exportCompany: exportCompany(context, sources),
    publicBundle: bundlePublic(context, sources),
    eventBundle: bundleEvent(context, sources),
    timestampToken: timestampToken(context),
  }
}
