import type { Bundle, PublicBundle } from '../schemas/bundle.ts'
import type { Cacheable, Scope } from './scope.ts'
import type { EvidenceProof, FileProof, MerkleProof, MerkleRoot, MerkleValidation } from '../schemas/proof-documents.ts'
import type { BundleSelection, MerkleValidationRequest } from '../schemas/proof-inputs.ts'

/** Selects an evidence for the public. */
export interface EvidenceSelector {
  /** The external id or the internal id. */
  readonly evidenceId: string
  /** With it, the external id in this company takes precedence. Without it, the internal id does. */
  readonly companyId?: string
  /** The txId of the creation. It selects one of several evidences with the same external id. */
  readonly txId?: string
}

/**
 * Proofs, for anyone except `bundle`. A result carries its own `status` and is a union by it. What does not exist is a
 * result (`not_found`), not an exception.
 */
export interface Proofs {
  /**
   * Recomputes a root from a caller's path and says whether it is the expected one, and whether this log ever sealed
   * that root.
   *
   * @throws `VALIDATION_ERROR` if the request is malformed
   */
  validate(request: MerkleValidationRequest): Promise<MerkleValidation>
  /**
   * Proof of an evidence's creation.
   *
   * An external id that several companies use is `ambiguous`, with the `candidates`, unless `companyId` or `txId`
   * selects one of them.
   *
   * @example
   * const proof = await registry.proofs.evidence({ evidenceId: 'VIN-1' })
   * if (proof.status === 'ok') console.log(proof.merkle.merkleRoot)
   */
  evidence(evidence: EvidenceSelector): Promise<EvidenceProof>
  /**
   * As `evidence`, but returns `cached` itself while neither the evidence nor what attests its batch has changed, which
   * costs less.
   *
   * @param cached - an earlier result for the same selector, or an object with its `state`
   */
  evidenceIfChanged<K extends Cacheable>(
    evidence: EvidenceSelector,
    cached: K | undefined,
  ): Promise<(EvidenceProof & Cacheable) | K>
  /** Proof of the event that attached a file, and of the event that deleted it if there is one. */
  file(file: EvidenceSelector & { readonly fileId: string }): Promise<FileProof>
  /** The path of a txId to the root of its batch. */
  transaction(txId: string): Promise<MerkleProof>
  /**
   * The proof of a txId as C2SP tlog-proof, with the opening as `extra`, under the smallest checkpoint that holds it
   * and that a key which is not retired signed. `undefined` if the log does not hold it, or no signed tree does yet.
   *
   * @throws `VALIDATION_ERROR` unless the txId is 64 hex digits
   * @example
   * const { evidence } = await registry.evidences.get(scope, 'VIN-1')
   * const proof = await registry.proofs.tlogProof(evidence.txId)
   * if (proof !== undefined) await writeFile('VIN-1.tlog-proof', proof)
   */
  tlogProof(txId: string): Promise<string | undefined>
  /** The root of the batch of a txId, and its time stamp. */
  root(txId: string): Promise<MerkleRoot>
  /**
   * The whole DER TimeStampResp (RFC 3161) that covers a batch.
   *
   * @throws `BATCH_NOT_FOUND` if there is no such batch, or no token for it yet
   */
  timestampToken(batchId: string): Promise<Uint8Array>
  /**
   * Everything it takes to verify an evidence offline, as one JSON document (`core/SPECIFICATION.md`): its
   * whole history, with the selected fields and files disclosed. Requires level `R`. With level `A`, it also has the
   * texts of the receipts of erasures.
   *
   * @throws `EVIDENCE_NOT_FOUND`, `FILE_NOT_FOUND`, `VALIDATION_ERROR` if the selection is malformed or the history too
   * long
   * @example
   * const bundle = await registry.proofs.bundle(scope, { externalId: 'VIN-1', fields: 'all', files: 'none' })
   * await writeFile('VIN-1.evidence.json', JSON.stringify(bundle))
   */
  bundle(scope: Scope, selection: BundleSelection & { readonly externalId: string }): Promise<Bundle>
  /**
   * Every evidence of a company as lines of JSON (`core/SPECIFICATION.md`), in parts of about 32 KiB: a first line,
   * the bundle of each evidence in the order of the ids, and a last line with the counts and the hash of all before.
   * Holds nothing of the store between two parts. Evidences that are created meanwhile are left out. Requires level
   * `R`.
   *
   * @example
   * await pipeline(registry.proofs.exportCompany(scope), createWriteStream('acme.evidence.ndjson'))
   */
  exportCompany(scope: Scope): AsyncGenerator<string, void, undefined>
  /**
   * The bundle that anyone may have. Of an evidence: the creation, without its content. With `fileId`: the event that
   * attached the file, and the event that deleted it if there is one.
   */
  publicBundle(subject: EvidenceSelector & { readonly fileId?: string }): Promise<PublicBundle>
  /** The bundle of any event that anyone may have, by its txId: the event without its content. */
  eventBundle(txId: string): Promise<PublicBundle>
}
