import Type from '#typebox'
import { clearSchema, ExternalId, Meta, Name, opt, Person, Text, without } from './fields.ts'

/** Parts of inputs that are the same in the API and in the core. */

/** An evidence without its category and its files. */
export const evidenceMembers = {
  externalId: ExternalId,
  name: Name,
  owner: opt(Person),
  description: opt(Text),
  summary: opt(Text),
  meta: opt(Meta),
}

/** What an update changes. */
export const evidenceChangeMembers = {
  name: opt(Name),
  owner: opt(Person),
  description: opt(Text),
  summary: opt(Text),
  eventDescription: opt(Text),
  meta: opt(Meta),
  clear: opt(clearSchema(['owner', 'description', 'summary', 'meta'])),
}

/** The types that a request can give the content event of an update. */
export const UPDATE_TYPES = ['stolen', 'repair', 'custom', 'change'] as const

/** A key that the client has chosen. Only a hash of it is stored. */
export const apiKey = Type.String({
  minLength: 16,
  maxLength: 1_024,
  ...without('[^\\x21-\\x7e]'),
  description: 'a string of 16 to 1,024 printable ASCII characters without spaces',
})

const MAX_GRACE_SECONDS = 7 * 24 * 3_600

/** How long a replaced key still works. */
export const graceSeconds = Type.Integer({
  minimum: 0,
  maximum: MAX_GRACE_SECONDS,
  description: `an integer of 0 to ${MAX_GRACE_SECONDS}`,
})

const MAX_PROOF_ITEMS = 64

const hash = Type.String({
  maxLength: 66,
  pattern: '^(?:0[xX])?[0-9a-fA-F]{64}',
  ...without('^[0-9a-fA-F]{64}[\\s\\S]'),
  description: '64 hex digits in either case, with or without 0x',
})

/** The same as `MerkleValidationRequest` in core/api/proofs.ts. Open, so that a whole proof can be sent. */
export const MerkleValidationRequest = Type.Object({
  txId: hash,
  merkleRoot: hash,
  proof: Type.Array(Type.Object({ hash, position: opt(Type.Enum(['left', 'right'])) }), {
    maxItems: MAX_PROOF_ITEMS,
    description: `an array of at most ${MAX_PROOF_ITEMS} items`,
  }),
})
