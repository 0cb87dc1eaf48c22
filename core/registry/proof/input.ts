import Type from 'typebox'
import { closed, Hash, opt } from '../schemas.ts'

/** The same as `MerkleValidationRequest` in core/api/proofs.ts. */

const MAX_PROOF_ITEMS = 64
const MAX_SELECTED = 1_000
/** A bundle is made and verified in memory. */
export const MAX_BUNDLE_EVENTS = 10_000

const Selected = Type.Union(
  [
    Type.Enum(['all', 'none']),
    Type.Array(Type.String({ minLength: 1, maxLength: 128 }), { minItems: 1, maxItems: MAX_SELECTED }),
  ],
  { description: `all, none, or an array of 1 to ${MAX_SELECTED} names` },
)

export const bundleSelectionSchema = closed({
  fields: Selected,
  files: Selected,
  history: opt(Type.Boolean({ description: 'a boolean' })),
})

export const merkleValidationRequestSchema = closed({
  txId: Hash,
  merkleRoot: Hash,
  proof: Type.Array(closed({ hash: Hash, position: opt(Type.Enum(['left', 'right'])) }), {
    maxItems: MAX_PROOF_ITEMS,
    description: `an array of at most ${MAX_PROOF_ITEMS} items`,
  }),
})
