import Type from '#typebox'
import { closed, opt } from '../../schemas/fields.ts'

const MAX_PROOF_ITEMS = 64
const MAX_SELECTED = 1_000

/** The fields that events can have (core/README.md). */
export const EVENT_FIELDS: readonly string[] = [
  'action',
  'actor',
  'company',
  'evidence',
  'externalId',
  'name',
  'categoryId',
  'subcategoryId',
  'slotKey',
  'owner',
  'description',
  'summary',
  'meta',
  'imageId',
  'status',
  'updateDescription',
  'personaName',
  'eventDescription',
]

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

const HashInput = Type.String({
  pattern: '^(?:0[xX])?[0-9a-fA-F]{64}$',
  description: 'a SHA-256 hash of 64 hex digits',
})

/** The same as `MerkleValidationRequest` in core/api/proofs.ts. Open, so that a whole proof can be sent. */
export const merkleValidationRequestSchema = Type.Object({
  txId: HashInput,
  merkleRoot: HashInput,
  proof: Type.Array(Type.Object({ hash: HashInput, position: opt(Type.Enum(['left', 'right'])) }), {
    maxItems: MAX_PROOF_ITEMS,
    description: `an array of at most ${MAX_PROOF_ITEMS} items`,
  }),
})
