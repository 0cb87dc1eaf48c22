import Type from 'typebox'
import type { EvidenceProof, FileProof, MerkleProof, MerkleRoot } from '../../core/index.ts'
import { closed, opt } from './values.ts'

// The core's proof documents are the responses, unchanged.

/** A hash as it is accepted. */
const HashInput = Type.String({
  pattern: '^(?:0[xX])?[0-9a-fA-F]{64}$',
  description: '64 hex digits in either case, with or without 0x',
})

/** Open, so that it also accepts the whole response of 22, and `merkle` of 20 with a txId. */
export const MerkleValidationRequest = Type.Object({
  txId: HashInput,
  merkleRoot: HashInput,
  proof: Type.Array(Type.Object({ hash: HashInput, position: opt(Type.Enum(['left', 'right'])) }), { maxItems: 64 }),
})

export const CompanyQuery = closed({
  companyId: opt(
    Type.String({ description: 'Company of the evidence. Its external ids then take precedence over internal ids' }),
  ),
  txId: opt(Type.String({ description: 'txId of the creation: selects one of several evidences' })),
})

export type Proof = EvidenceProof | FileProof | MerkleProof | MerkleRoot

/** The HTTP status of each verification status that is not a success. All others have 200. */
const HTTP_STATUS: { readonly [K in Proof['status']]?: number } = { not_found: 404, ambiguous: 409, invalid: 400 }

export const httpStatusOf = ({ status }: Pick<Proof, 'status'>): number => HTTP_STATUS[status] ?? 200
