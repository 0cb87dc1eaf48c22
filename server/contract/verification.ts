import Type from 'typebox'
import type { EvidenceProof, FileProof, MerkleProof, MerkleRoot } from '../../core/index.ts'
import { closed, Hash, opt } from './values.ts'

// The core's proof documents are the responses, unchanged.

export const MerkleValidationRequest = closed({
  txId: Hash,
  merkleRoot: Hash,
  proof: Type.Array(closed({ hash: Hash, position: opt(Type.Enum(['left', 'right'])) }), { maxItems: 64 }),
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
