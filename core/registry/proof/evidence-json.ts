import type { EvidenceProof } from '../../schemas/proof-documents.ts'
import type { EvidenceProofJson, EvidenceSelector } from '../../api/proofs.ts'
import type { BatchRecord } from '../../log/records.ts'
import type { Key, Version } from '../../ports/index.ts'
import { SecondUseMap } from '../../store/cache.ts'
import type { Context } from '../context.ts'
import { proveRecord } from './evidence.ts'
import { isFinal, joinedParts, ownPartsOf, sharedPartsOf, type OwnParts, type SharedParts } from './final-proof-json.ts'
import { findEvidence, FoundEvidence } from './find-evidence.ts'

/** Of the parts of single evidences. */
const MAX_KEPT_CHARS = 32 * 1024 * 1024

interface KeptParts extends OwnParts {
  /** The version of the evidence's record. */
  readonly version: Version
  readonly batch: BatchRecord
}

/**
 * The JSON of proofs of evidences. Keeps the parts of final proofs. The part of one evidence is kept from the second
 * time on, and was verified when it was made. It follows from the evidence's record and from the path in its batch,
 * which never changes. The part that all proofs of a batch share is kept with the attestations that it was made of,
 * until a stamp or an anchor changes.
 */
export class EvidenceProofJsons {
  readonly #own: SecondUseMap<Key, KeptParts>
  /** By the tokens of the attestations. */
  readonly #shared = new WeakMap<object, SharedParts>()

  /** @param maxKeptChars Characters of the parts of all evidences together. At least 2. */
  constructor(maxKeptChars = MAX_KEPT_CHARS) {
    this.#own = new SecondUseMap(maxKeptChars, ({ start, middle, end }) => start.length + middle.length + end.length)
  }

  async get(context: Context, selector: EvidenceSelector): Promise<EvidenceProofJson> {
    const found = await findEvidence(context, selector)
    if (!(found instanceof FoundEvidence)) return jsonOf({ ...found, evidenceId: selector.evidenceId })
    const { key, version } = found.entry
    const kept = this.#own.get(key)
    if (kept?.version === version) {
      const shared = await this.#sharedBy(context, kept.batch)
      if (shared !== undefined) return { status: 'ok', json: joinedParts(kept, shared) }
    }
    const proof = await proveRecord(context, found.record)
    const batch = isFinal(proof) ? await context.log.batchOf(proof.merkle.leafIndex) : undefined
    if (!isFinal(proof) || batch === undefined) return jsonOf(proof)
    const own = ownPartsOf(proof)
    this.#own.set(key, () => ({ version, batch, ...own }))
    const shared = this.#shared.get(proof.tsas) ?? sharedPartsOf(proof)
    this.#shared.set(proof.tsas, shared)
    return { status: proof.status, json: joinedParts(own, shared) }
  }

  /** `undefined` if the proofs of the batch are not final now, or none has been made since its attestations changed. */
  async #sharedBy({ attestations, log }: Context, batch: BatchRecord): Promise<SharedParts | undefined> {
    const [attestation, sendStatus] = await Promise.all([attestations.of(batch), log.sendStatusOf(batch)])
    const tokens = attestation?.stamp?.tsas
    return tokens && sendStatus === 'C' ? this.#shared.get(tokens) : undefined
  }
}

const jsonOf = (proof: EvidenceProof): EvidenceProofJson => ({ status: proof.status, json: JSON.stringify(proof) })
