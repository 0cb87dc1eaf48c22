import Type from '#typebox'
import { closed, IdToFind, type Input, limitSchema, opt, without } from './fields.ts'

/** What the operations on proofs and on the log take. */

const MAX_PROOF_ITEMS = 64

const hash = Type.String({
  maxLength: 66,
  pattern: '^(?:0[xX])?[0-9a-fA-F]{64}',
  ...without('^[0-9a-fA-F]{64}[\\s\\S]'),
  description: '64 hex digits in either case, with or without 0x',
})

export const MerkleValidationRequest = Type.Object({
  txId: hash,
  merkleRoot: hash,
  proof: Type.Array(Type.Object({ hash, position: opt(Type.Enum(['left', 'right'])) }), {
    maxItems: MAX_PROOF_ITEMS,
    description: `an array of at most ${MAX_PROOF_ITEMS} items`,
  }),
})
/**
 * A caller's own path from a txId to a root. Hashes are 64 hex digits in either case, with or without `0x`. `position`
 * is the side of the sibling. Other members are ignored, so that a whole `MerkleProof` can be passed.
 */
export type MerkleValidationRequest = Input<typeof MerkleValidationRequest>

/** How many names a selection has at most. */
const MAX_SELECTED = 1_000

const Selected = Type.Union(
  [
    Type.Enum(['all', 'none']),
    Type.Array(Type.String({ minLength: 1, maxLength: 128 }), { minItems: 1, maxItems: MAX_SELECTED }),
  ],
  { description: `all, none, or an array of 1 to ${MAX_SELECTED} names` },
)

export const BundleSelection = closed({
  /** Names of fields, `all` or `none`. `all` leaves out `slotKey`. */
  fields: Selected,
  /** Ids of files, `all` or `none`. */
  files: Selected,
  /** Also disclose `slotKey`, with which later versions can be found in the log. Default false. */
  history: opt(Type.Boolean({ description: 'a boolean' })),
  /** The versions to disclose and to stamp, `from` to `to`. The others have their header alone. Default: all. */
  versions: opt(closed({ from: Type.Integer({ minimum: 1 }), to: Type.Integer({ minimum: 1 }) })),
})
/** A bundle whose disclosed texts the caller chooses. */
export type BundleSelection = Input<typeof BundleSelection>

/** A batch is covered by tokens of several KiB, so pages are shorter than those of other lists. */
const MAX_BATCHES = 200

export const BatchQuery = closed({
  /** 1 to 200 batches. Default 50. */
  limit: opt(limitSchema(MAX_BATCHES)),
  /** Only batches that are older than the batch with this id. */
  after: opt(IdToFind),
})
export type BatchQuery = Input<typeof BatchQuery>
