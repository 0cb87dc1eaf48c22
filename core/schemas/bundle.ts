import Type, { type Static } from '#typebox'
import { closed, DateTime, Hash, hexOf, opt, without } from './fields.ts'
import {
  BUNDLE_FORMAT,
  MAX_ANCHORS,
  MAX_CHECKPOINT_TOKENS,
  MAX_COSIGNATURES,
  MAX_RECEIPTS,
} from '../commitment/bundle-format.ts'
import type { AmbiguousEvidence, UnknownEvidence } from './proof-documents.ts'

/**
 * The proof bundle: one JSON document that a stranger can verify offline. The format is specified, with an example, in
 * `core/SPECIFICATION.md`. Every object is closed: a verifier rejects unknown members, except in `extensions`.
 */

export { BUNDLE_FORMAT }
export const BUNDLE_MEDIA_TYPE = 'application/vnd.evidence-registry.bundle+json'
/** The end of a bundle's file name. */
export const BUNDLE_EXTENSION = '.evidence.json'

const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Base64 = Type.String({ minLength: 1, ...without('[^A-Za-z0-9+/=]|^=|=[^=]|={3}') })
const Extensions = opt(
  Type.Record(Type.String(), Type.Unknown(), { description: 'Free for other programs. Nothing in it is verified' }),
)

/** The inclusion of one log entry in the tree of one checkpoint (RFC 9162 § 2.1.3). */
export const BundleInclusion = closed({
  treeSize: Type.Integer({ minimum: 1, description: 'The size of a checkpoint in `checkpoints`' }),
  path: Type.Array(Hash, { maxItems: 64, description: 'From the sibling of the leaf to the child of the root' }),
})
export type BundleInclusion = Static<typeof BundleInclusion>

const RANGES = Type.Array(
  closed({
    from: Type.Integer({ minimum: 1, description: 'The smallest one' }),
    until: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], { description: 'null: it is still in use' }),
  }),
  { description: 'The tree sizes, both inclusive, for which it counts' },
)

const DisclosedText = closed({ text: Type.String(), salt: Hash })

export const BundleEvent = closed({
  opening: Type.String({ ...hexOf(240), description: '120 bytes. Its SHA-256 is the txId, a log entry' }),
  position: opt(Type.Integer({ minimum: 0, description: 'Index of the entry in the log. Absent until it is sealed' })),
  inclusion: Type.Array(BundleInclusion, {
    maxItems: 3,
    description:
      'Under the earliest stamped, the earliest anchored and, if the stamped one has no quorum of witnesses, the ' +
      'earliest cosigned checkpoint that cover the event; else the earliest one. Empty until the event is sealed',
  }),
  header: opt(Type.String({ description: 'Exact text. Only in bundles made with a key' })),
  filesText: opt(Type.String({ description: 'Exact text of the map of file hashes. Always together with filesSalt' })),
  filesSalt: opt(Hash),
  fields: opt(Type.Record(Type.String(), DisclosedText, { description: 'Disclosed fields by name. Needs header' })),
  files: opt(Type.Record(Type.String(), DisclosedText, { description: 'Disclosed files by id. Needs filesText' })),
})
export type BundleEvent = Static<typeof BundleEvent>

/** An entry of a checkpoint key. The first one is entry 0, and the origin commits to it. */
export const BundleKey = closed({
  opening: Type.String({
    minLength: 32,
    maxLength: 32_768,
    // Other characters than hex digits, or an odd number of them.
    ...without('[^0-9a-f]|^[0-9a-f](?:[0-9a-f]{2})*$'),
    description: 'Whole bytes. Its SHA-256 is a log entry',
  }),
  position: Count,
  inclusion: Type.Array(BundleInclusion, {
    description:
      'Under every checkpoint of the bundle that this key signed, which proves that the tree holds its entry',
  }),
})
export type BundleKey = Static<typeof BundleKey>

/** The entry of a token, which a later checkpoint covers. */
export const BundleRenewal = closed({
  opening: Type.String({ ...hexOf(96), description: '48 bytes. Its SHA-256 is a log entry' }),
  position: Count,
  inclusion: Type.Array(BundleInclusion, {
    minItems: 1,
    maxItems: 2,
    description: 'Under a later checkpoint of the bundle, whose tokens prove that this token existed',
  }),
})
export type BundleRenewal = Static<typeof BundleRenewal>

/** The entry of an erasure in the log, which holds a hash of its receipt. */
export const BundleReceipt = closed({
  opening: Type.String({ ...hexOf(96), description: '48 bytes. Its SHA-256 is a log entry' }),
  text: opt(
    Type.String({
      description: 'Exact text: what the registry states that it erased. Only in bundles made with an A key',
    }),
  ),
  salt: opt(Hash),
  position: Count,
  inclusion: Type.Array(BundleInclusion, {
    minItems: 1,
    maxItems: 3,
    description: 'Under checkpoints of the bundle, which are chosen as those of an event',
  }),
})
export type BundleReceipt = Static<typeof BundleReceipt>

export const BundleAnchor = closed({
  type: Type.String({ description: '`evm`, `local`, …: which format `proof` has' }),
  network: Type.String(),
  chainId: Count,
  txHash: Type.String(),
  blockNumber: Count,
  blockHash: Type.String(),
  proof: Type.String({
    description:
      "The adapter's own proof. evm: JSON with the raw transaction, the block's header and the trie path. local: the " +
      "line of the ledger's file that holds the block. For any other type base64",
  }),
})
export type BundleAnchor = Static<typeof BundleAnchor>

export const BundleCheckpoint = closed({
  note: Type.String({ description: 'C2SP tlog-checkpoint with the signature of the log alone: the stamped bytes' }),
  consistency: opt(
    Type.Array(Hash, {
      maxItems: 64,
      description:
        'That the tree is the beginning of the next one in the bundle (RFC 9162 § 2.1.4). Absent in the last',
    }),
  ),
  keyConsistency: opt(
    Type.Array(Hash, {
      maxItems: 64,
      description: 'That it is the beginning of the last tree of the key that signed it, if that key is retired',
    }),
  ),
  cosignatures: Type.Array(Type.String(), {
    maxItems: MAX_COSIGNATURES,
    description: 'Signature lines of witnesses (C2SP tlog-cosignature), without the line feed',
  }),
  tokens: Type.Array(Base64, {
    maxItems: MAX_CHECKPOINT_TOKENS,
    description: 'Whole RFC 3161 TimeStampResps over the bytes of `note`',
  }),
  anchors: Type.Array(BundleAnchor, {
    maxItems: MAX_ANCHORS,
    description: 'Transactions that carry the bytes of `note`',
  }),
})
export type BundleCheckpoint = Static<typeof BundleCheckpoint>

export const BundleValidationData = closed({
  type: Type.Enum(['certificate', 'crl', 'ocsp']),
  data: Base64,
})
export type BundleValidationData = Static<typeof BundleValidationData>

/** What a verifier pins. `GET /log/policy` returns it. */
export const LogPolicy = closed({
  origin: Type.String(),
  keys: Type.Array(
    closed({
      vkey: Type.String({ description: 'C2SP verifier key' }),
      from: Type.Integer({ minimum: 1, description: 'The smallest tree size that the key signs' }),
      until: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
        description: 'The size of the last tree that it signs; null: no tree holds the next key',
      }),
      root: opt(Hash),
      retiredAt: opt(DateTime),
      compromised: opt(
        Type.Boolean({ description: 'Of a retired key: others may know it, so that no token helps what it signed' }),
      ),
    }),
    {
      description:
        'Every checkpoint key, oldest first. A retired one has the root of its last tree, and genTime of the first ' +
        'token over a tree with the next key, if there is one',
    },
  ),
  witnesses: Type.Array(
    closed({
      name: Type.String({ description: 'Local to this policy' }),
      vkey: Type.String({ description: 'C2SP verifier key' }),
      url: opt(Type.String({ description: 'Submission prefix' })),
      ranges: opt(RANGES),
    }),
  ),
  groups: Type.Array(
    closed({
      name: Type.String(),
      threshold: Type.Union([Type.Enum(['all', 'any']), Type.Integer({ minimum: 1 })]),
      members: Type.Array(Type.String({ description: 'A witness, or an earlier group' })),
    }),
  ),
  quorum: Type.String({ description: 'The witness or group that is the quorum of cosignatures, or none' }),
  timestampAuthorities: Type.Array(
    closed({
      name: Type.String(),
      trustAnchors: Type.Array(Type.String({ description: 'Certificates in PEM' })),
      ranges: RANGES,
    }),
    { description: 'Every authority whose tokens the log holds. One that is not in use counts up to its last entry' },
  ),
  timestampQuorum: Type.Integer({ minimum: 1, description: 'How many of them must have stamped a checkpoint now' }),
  timestampQuorums: Type.Array(
    closed({
      quorum: Type.Integer({ minimum: 1, description: 'How many authorities must have stamped these trees' }),
      ranges: RANGES,
    }),
    { description: 'The same for the trees of each range' },
  ),
  chains: Type.Array(
    closed({
      type: Type.String(),
      network: Type.String(),
      chainId: Count,
      account: Type.String({ description: "evm: the sender's address. local: the ledger's Ed25519 public key in hex" }),
      ranges: RANGES,
    }),
    { description: 'Every account that has anchored the log' },
  ),
  extensions: Extensions,
})
export type LogPolicy = Static<typeof LogPolicy>

/** What the bundle is about. It selects from what is proven, and proves nothing itself. */
export const BundleSubject = Type.Union([
  closed({ type: Type.Literal('evidence'), txId: Hash }),
  closed({ type: Type.Literal('file'), txId: Hash, fileId: Type.String() }),
])
export type BundleSubject = Static<typeof BundleSubject>

export const Bundle = closed({
  format: Type.Literal(BUNDLE_FORMAT),
  version: Type.Literal(1),
  origin: Type.String({ description: 'The log' }),
  subject: BundleSubject,
  events: Type.Array(BundleEvent, { minItems: 1 }),
  keys: Type.Array(BundleKey, { minItems: 1, description: 'In the order of the log, entry 0 first' }),
  checkpoints: Type.Array(BundleCheckpoint, { description: 'By ascending size, each size once' }),
  validationData: Type.Array(BundleValidationData, {
    description: 'Certificates, CRLs and OCSP responses (DER) for the tokens of all checkpoints, each once',
  }),
  renewals: opt(
    Type.Array(BundleRenewal, { description: 'Tokens that the newest stamp renews. Absent if there are none' }),
  ),
  receipts: opt(
    Type.Array(BundleReceipt, {
      maxItems: MAX_RECEIPTS,
      description: 'The newest erasures of events of the bundle that are sealed. Absent if there are none',
    }),
  ),
  claimedPolicy: opt(LogPolicy),
  extensions: Extensions,
})
export type Bundle = Static<typeof Bundle>

/** The public bundle, or why there is none. */
export type PublicBundle =
  | { readonly status: 'ok'; readonly bundle: Bundle }
  | Omit<UnknownEvidence, 'evidenceId'>
  | Omit<AmbiguousEvidence, 'evidenceId'>
