import Type, { type Static } from '#typebox'
import { closed, DateTime, Hash, Id, opt, SendStatus, without } from './fields.ts'

/**
 * The proofs, and the stamps and anchors in them: a format of its own, which the server sends unchanged. Each document
 * is a union by `status`, so that a program that has checked the status can read the members without further checks.
 * The schemas also describe the documents in the server's OpenAPI document.
 */

const Count = Type.Integer({ minimum: 0 })

export const ProofItem = closed({
  hash: Hash,
  position: Type.Enum(['left', 'right'], { description: 'The side of the sibling' }),
})
export interface ProofItem extends Static<typeof ProofItem> {}

export const AnchorProof = closed({
  type: Type.String(),
  network: Type.String(),
  chainId: Type.Integer({ minimum: 0, description: '0 if the chain has none' }),
  txHash: Type.String(),
  blockNumber: Count,
  blockHash: Type.String(),
  blockTime: DateTime,
  confirmations: Count,
  treeSize: Count,
  merkleRoot: Hash,
  checkpoint: Type.String(),
  consistency: Type.Array(Hash),
})
export interface AnchorProof extends Static<typeof AnchorProof> {}

export const EventMerkleProof = closed({
  batchId: Id,
  merkleRoot: Hash,
  leafIndex: Count,
  treeSize: Count,
  sendStatus: SendStatus,
  proof: Type.Array(ProofItem),
  checkpoint: Type.String({ description: 'The whole signed note (C2SP tlog-checkpoint) at treeSize' }),
  anchor: opt(AnchorProof),
})
export interface EventMerkleProof extends Static<typeof EventMerkleProof> {
  anchor?: AnchorProof
}

export const TsaProof = closed({
  authority: Type.String(),
  genTime: DateTime,
  serialNumber: Type.String({ pattern: '^-?[0-9a-f]', ...without('[^0-9a-f-]|[0-9a-f-]-') }),
  policy: Type.String(),
  hashAlgorithm: Type.String(),
  imprint: Type.String({ minLength: 1, ...without('[^0-9a-f]') }),
  token: Type.String({ description: 'The whole RFC 3161 TimeStampResp, base64' }),
  treeSize: Count,
  checkpoint: Type.String(),
  consistency: Type.Array(Hash),
  evidence: opt(
    Type.Array(closed({ type: Type.Enum(['certificate', 'crl', 'ocsp']), data: Type.String() }), {
      description:
        'Only in tsas: certificates, CRLs and OCSP responses (DER, base64), kept for later checks of the token',
    }),
  ),
})
export interface TsaProof extends Static<typeof TsaProof> {}

const Tsas = Type.Array(TsaProof, {
  description:
    'Every token over the same checkpoint as tsa, which is the token by which a quorum of authorities ' +
    'vouches for the time',
})

export const AssuranceLevel = Type.Enum(['none', 'operator', 'independent'])
export const AssuranceNote = closed({ time: AssuranceLevel, anchor: AssuranceLevel, note: Type.String() })
export interface AssuranceNote extends Static<typeof AssuranceNote> {}

/** What could not be proven, and why. `error` is for people and can change, `code` is stable. */
const failure = { error: Type.String(), code: Type.String() }
/** Of a proof: the event's opening (hex), and how far the proof reaches. */
const opened = { opening: Type.String(), assurance: AssuranceNote }
/** The stamp that covers the event, if there is one. */
const stamps = { tsa: opt(TsaProof), tsas: opt(Tsas) }
/** The event in the log. `blockNumber`: the block of the anchor that covers it, if one is confirmed. */
const sealed = { merkle: EventMerkleProof, blockNumber: opt(Count), ...stamps }

const transaction = { txId: Type.String() }

export const MerkleProof = Type.Union([
  closed({
    status: Type.Literal('ok'),
    ...transaction,
    merkleRoot: Hash,
    leafIndex: Count,
    proof: Type.Array(ProofItem),
    treeSize: Count,
    batchId: Id,
    sendStatus: SendStatus,
    checkpoint: Type.String(),
    ...opened,
  }),
  closed({ status: Type.Literal('pending'), ...transaction, ...opened }),
  closed({ status: Type.Enum(['invalid', 'not_found']), ...transaction, ...failure }),
])
export type MerkleProof = Static<typeof MerkleProof>

/** What the log knows of the two hashes of a request. */
const known = {
  expectedRoot: Hash,
  txIdKnown: Type.Boolean(),
  rootKnown: Type.Boolean(),
  sendStatus: opt(SendStatus),
}

export const MerkleValidation = Type.Union([
  closed({ status: Type.Literal('ok'), valid: Type.Literal(true), computedRoot: Hash, ...known }),
  closed({ status: Type.Literal('ok'), valid: Type.Literal(false), computedRoot: opt(Hash), ...known, ...failure }),
  closed({
    status: Type.Literal('unknown_root'),
    valid: Type.Boolean({ description: 'The path leads to the root, but this log never sealed it' }),
    computedRoot: opt(Hash),
    ...known,
    ...failure,
  }),
  closed({ status: Type.Enum(['pending', 'not_found']), valid: Type.Literal(false), ...known, ...failure }),
])
export type MerkleValidation = Static<typeof MerkleValidation>

/** An evidence that an external id of several companies can mean. */
export const EvidenceCandidate = closed({
  id: Id,
  txId: Hash,
  createdAt: DateTime,
})
export interface EvidenceCandidate extends Static<typeof EvidenceCandidate> {}
const Candidates = Type.Array(EvidenceCandidate, {
  maxItems: 100,
  description: 'The evidences that the external id can mean, oldest first: their internal ids',
})

const evidence = { evidenceId: Type.String() }
const creation = { ...evidence, txId: Hash, createdAt: DateTime, fileCount: Count, ...opened }

const ProvenEvidence = closed({ status: Type.Literal('ok'), ...creation, ...sealed })
const PendingEvidence = closed({ status: Type.Literal('pending'), ...creation })
const AmbiguousEvidence = closed({
  status: Type.Literal('ambiguous'),
  ...evidence,
  ...failure,
  candidates: Candidates,
})
const UnknownEvidence = closed({ status: Type.Enum(['invalid', 'not_found']), ...evidence, ...failure })

// Interfaces, because an editor shows their names, and of other types all members.
export interface ProvenEvidence extends Static<typeof ProvenEvidence> {
  merkle: EventMerkleProof
  tsa?: TsaProof
  tsas?: TsaProof[]
}
export interface PendingEvidence extends Static<typeof PendingEvidence> {}
export interface AmbiguousEvidence extends Static<typeof AmbiguousEvidence> {}
export interface UnknownEvidence extends Static<typeof UnknownEvidence> {}
export const EvidenceProof = Type.Union([ProvenEvidence, PendingEvidence, AmbiguousEvidence, UnknownEvidence])
export type EvidenceProof = ProvenEvidence | PendingEvidence | AmbiguousEvidence | UnknownEvidence

const file = { fileId: Type.String(), evidenceId: Type.String() }
const attachment = {
  ...file,
  txId: Hash,
  eventTimestamp: DateTime,
  filesText: Type.String(),
  filesSalt: Hash,
  ...opened,
}

/** The deletefile event of a deleted file. */
export const FileDeletion = closed({
  txId: Hash,
  eventTimestamp: DateTime,
  blockNumber: opt(Count),
  merkle: opt(EventMerkleProof),
  ...stamps,
  opening: Type.String(),
  filesText: Type.String(),
  filesSalt: Hash,
  file: closed(
    { text: Type.String(), salt: Hash },
    {
      description: "The file's entry in that event. It holds the file's id and the txId of the event that attached it",
    },
  ),
})
export interface FileDeletion extends Static<typeof FileDeletion> {}

export const FileProof = Type.Union([
  closed({ status: Type.Literal('ok'), ...attachment, ...sealed }),
  closed({ status: Type.Literal('pending'), ...attachment }),
  closed({
    status: Type.Literal('deleted'),
    ...attachment,
    ...sealed,
    merkle: opt(EventMerkleProof),
    deletion: FileDeletion,
  }),
  closed({ status: Type.Literal('ambiguous'), ...file, ...failure, candidates: Candidates }),
  closed({ status: Type.Enum(['invalid', 'not_found']), ...file, ...failure }),
])
export type FileProof = Static<typeof FileProof>

export const MerkleRoot = Type.Union([
  closed({
    status: Type.Literal('ok'),
    merkleRoot: Hash,
    txidCount: Count,
    sendStatus: SendStatus,
    treeDepth: Count,
    createdAt: DateTime,
    tsaGenTime: opt(DateTime),
    tsaSerial: opt(Type.String()),
    tsaPolicy: opt(Type.String()),
    batchId: Id,
  }),
  closed({ status: Type.Literal('pending') }),
  closed({ status: Type.Enum(['invalid', 'not_found']), ...failure }),
])
export type MerkleRoot = Static<typeof MerkleRoot>
