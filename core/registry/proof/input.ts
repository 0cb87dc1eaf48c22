import Type from 'typebox'
import { closed, Hash, opt } from '../schemas.ts'

/** The same as `MerkleValidationRequest` in core/api/proofs.ts. */

const MAX_PROOF_ITEMS = 64

export const merkleValidationRequestSchema = closed({
  txId: Hash,
  merkleRoot: Hash,
  proof: Type.Array(closed({ hash: Hash, position: opt(Type.Enum(['left', 'right'])) }), {
    maxItems: MAX_PROOF_ITEMS,
    description: `an array of at most ${MAX_PROOF_ITEMS} items`,
  }),
})
