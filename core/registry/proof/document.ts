import type { AnchorProof, AssuranceNote, EventMerkleProof, TsaProof } from '../../schemas/proof-documents.ts'

/** What the proofs of all entries of a batch have in common. It is frozen, because these proofs share it. */
export interface BatchAttestation {
  /** The signed checkpoint at the batch's end. */
  readonly checkpoint: string
  readonly anchor: AnchorProof | undefined
  readonly stamp: StampProof | undefined
  readonly blockNumber: number | undefined
  readonly assurance: Omit<AssuranceNote, 'note'>
}

export interface StampProof {
  readonly tsa: TsaProof
  readonly tsas: TsaProof[]
}

/** The proof that an entry is in the log, with the stamp and the anchor that cover it. */
export interface LogProof {
  readonly merkle: EventMerkleProof
  readonly stamp: StampProof | undefined
  readonly blockNumber: number | undefined
  readonly assurance: Omit<AssuranceNote, 'note'>
}

/** The members of a proof document for its event in the log. */
export const logProofMembers = ({ merkle, stamp }: LogProof) => ({ merkle, ...stamp })

export const blockMember = (blockNumber: number | undefined) => (blockNumber === undefined ? {} : { blockNumber })

/** A time in a proof document. */
export const rfc3339 = (ms: number): string => new Date(ms).toISOString()

const NOTES = {
  none: 'Time and existence are not yet confirmed by anyone outside this registry',
  operator:
    "The time stamp or the ledger is the operator's own, for a single machine and for trying out: no " +
    'independent party confirms it',
  independent: 'Confirmed by an authority or a chain that is independent of the operator',
} as const

/** Proven is only "not later than genTime or blockTime", and only as far as their source is trusted. */
export function assuranceOf(proof: LogProof | undefined): AssuranceNote {
  const { time, anchor } = proof?.assurance ?? ({ time: 'none', anchor: 'none' } as const)
  const best = (['independent', 'operator'] as const).find((level) => level === time || level === anchor) ?? 'none'
  return { time, anchor, note: NOTES[best] }
}
