import type { EvidenceProof } from '../../schemas/proof-documents.ts'
import { toHex } from '../../bytes.ts'
import { firstEventOf } from '../../store/evidence.ts'
import type { EvidenceRecord } from '../../store/records.ts'
import { checkedOpeningOf } from '../event/event.ts'
import { assuranceOf, blockMember, logProofMembers, type ProofContext, proveEvent, rfc3339 } from './log-proof.ts'
import type { EvidenceProofJson, EvidenceSelector, Proofs } from '../../api/proofs.ts'
import { findEvidence, FoundEvidence } from './find-evidence.ts'
import type { BatchRecord } from '../../log/records.ts'
import type { Key, Version } from '../../ports/index.ts'
import { SecondUseMap } from '../../store/cache.ts'

/** Proves an evidence. The proof has no name, owner, text, meta, company or category, because it is for anyone. */
export const proveEvidence =
  (context: ProofContext): Proofs['evidence'] =>
  async (selector) => {
    const found = await findEvidence(context, selector)
    if (!(found instanceof FoundEvidence)) return { ...found, evidenceId: selector.evidenceId }
    return proveRecord(context, found.record)
  }

/** The proof of an evidence with this record. */
async function proveRecord(
  context: ProofContext,
  record: EvidenceRecord,
): Promise<Extract<EvidenceProof, { status: 'ok' | 'pending' }>> {
  const { externalId: evidenceId, txId, createdAt, fileCount, slotKey } = record
  const opening = checkedOpeningOf(firstEventOf(record), { origin: context.origin, slotKey })
  const proof = await proveEvent(context, { txId })
  const proven = { opening: toHex(opening), assurance: assuranceOf(proof) }
  if (proof === undefined)
    return { status: 'pending', evidenceId, txId, createdAt: rfc3339(createdAt), fileCount, ...proven }
  return {
    status: 'ok',
    evidenceId,
    txId,
    ...blockMember(proof.blockNumber),
    createdAt: rfc3339(createdAt),
    fileCount,
    ...logProofMembers(proof),
    ...proven,
  }
}

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
class EvidenceProofJsons {
  readonly #own: SecondUseMap<Key, KeptParts>
  /** By the tokens of the attestations. */
  readonly #shared = new WeakMap<object, SharedParts>()

  /** @param maxKeptChars Characters of the parts of all evidences together. At least 2. */
  constructor(maxKeptChars = MAX_KEPT_CHARS) {
    this.#own = new SecondUseMap(maxKeptChars, ({ start, middle, end }) => start.length + middle.length + end.length)
  }

  async get(context: ProofContext, selector: EvidenceSelector): Promise<EvidenceProofJson> {
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
  async #sharedBy({ attestations, log }: ProofContext, batch: BatchRecord): Promise<SharedParts | undefined> {
    const [attestation, sendStatus] = await Promise.all([attestations.of(batch), log.sendStatusOf(batch)])
    const tokens = attestation?.stamp?.tsas
    return tokens && sendStatus === 'C' ? this.#shared.get(tokens) : undefined
  }
}

/** As `proveEvidence`, as JSON, of which the parts of final proofs are kept. */
export const evidenceJson = (context: ProofContext): Proofs['evidenceJson'] => {
  const jsons = new EvidenceProofJsons()
  return (selector) => jsons.get(context, selector)
}

const jsonOf = (proof: EvidenceProof): EvidenceProofJson => ({ status: proof.status, json: JSON.stringify(proof) })

type SealedProof = Extract<EvidenceProof, { status: 'ok' }>

/** A proof that can only change if its stamp or its anchor does: it is confirmed and stamped. */
export type FinalProof = SealedProof & {
  readonly blockNumber: number
  readonly merkle: { readonly anchor: object }
  readonly tsas: object
}

/** Whether a proof is final: it is confirmed and stamped. */
export const isFinal = (proof: EvidenceProof): proof is FinalProof =>
  proof.status === 'ok' &&
  proof.merkle.sendStatus === 'C' &&
  proof.merkle.anchor !== undefined &&
  proof.blockNumber !== undefined &&
  proof.tsas !== undefined

/** What the JSON of a final proof has of its evidence alone. A part of `SharedParts` follows each. */
export interface OwnParts {
  readonly start: string
  readonly middle: string
  readonly end: string
}

/** What the JSON of all final proofs of a batch has in common: two thirds of it. */
export interface SharedParts {
  readonly block: string
  readonly attestation: string
  readonly assurance: string
}

/** The parts of a final proof that its evidence alone has. */
export const ownPartsOf = ({
  status,
  evidenceId,
  txId,
  createdAt,
  fileCount,
  merkle,
  opening,
}: FinalProof): OwnParts => {
  const { batchId, merkleRoot, leafIndex, treeSize, sendStatus, proof } = merkle
  const path = { batchId, merkleRoot, leafIndex, treeSize, sendStatus, proof }
  return {
    start: `{${membersOf({ status, evidenceId, txId })},`,
    middle: `${membersOf({ createdAt, fileCount })},"merkle":{${membersOf(path)},`,
    end: `${membersOf({ opening })},`,
  }
}

/** The parts that all final proofs of a batch share. */
export const sharedPartsOf = ({ blockNumber, merkle, tsa, tsas, assurance }: FinalProof): SharedParts => ({
  block: `${membersOf({ blockNumber })},`,
  attestation: `${membersOf({ checkpoint: merkle.checkpoint, anchor: merkle.anchor })}},${membersOf({ tsa, tsas })},`,
  assurance: `${membersOf({ assurance })}}`,
})

/** What `JSON.stringify` makes of the proof with these parts. */
export const joinedParts = ({ start, middle, end }: OwnParts, { block, attestation, assurance }: SharedParts): string =>
  start + block + middle + attestation + end + assurance

/** The members of an object as JSON, without the braces. */
const membersOf = (object: object): string => JSON.stringify(object).slice(1, -1)
