import type { EvidenceProof } from '../../schemas/proof-documents.ts'

type SealedProof = Extract<EvidenceProof, { status: 'ok' }>

/** A proof that can only change if its stamp or its anchor does: it is confirmed and stamped. */
export type FinalProof = SealedProof & {
  readonly blockNumber: number
  readonly merkle: { readonly anchor: object }
  readonly tsas: object
}

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
