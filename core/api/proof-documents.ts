import Type, { type Static } from 'typebox'
import { DateTime, Hash, Id, SendStatus, closed, opt } from '../schemas.ts'

/** The shapes of the public answers: proofs, and the stamps and anchors in them. All other shapes are in core/registry/schemas.ts. */

const Count = Type.Integer({ minimum: 0 })

export const VerificationStatus = Type.Enum([
  'ok',
  'pending',
  'deleted',
  'not_found',
  'ambiguous',
  'invalid',
  'unknown_root',
])
export const ProofItem = closed({
  hash: Hash,
  position: Type.Enum(['left', 'right'], { description: 'The side on which the sibling stands' }),
})
export type ProofItem = Static<typeof ProofItem>

export const AnchorProof = closed({
  type: Type.String(),
  network: Type.String(),
  chainId: Type.Integer({ minimum: 0, description: '0 where the chain has none' }),
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
export type AnchorProof = Static<typeof AnchorProof>

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
export type EventMerkleProof = Static<typeof EventMerkleProof>

export const TsaProof = closed({
  authority: Type.String(),
  genTime: DateTime,
  serialNumber: Type.String({ pattern: '^[0-9a-f]+$' }),
  policy: Type.String(),
  hashAlgorithm: Type.String(),
  imprint: Type.String({ pattern: '^[0-9a-f]+$' }),
  token: Type.String({ description: 'The whole RFC 3161 TimeStampResp, base64' }),
  treeSize: Count,
  checkpoint: Type.String(),
  consistency: Type.Array(Hash),
  evidence: opt(
    Type.Array(closed({ type: Type.Enum(['certificate', 'crl', 'ocsp']), data: Type.String() }), {
      description:
        'In tsas: certificates, CRLs and OCSP answers (DER, base64) that were kept to check the token by later',
    }),
  ),
})
export type TsaProof = Static<typeof TsaProof>

const Tsas = Type.Array(TsaProof, {
  description:
    'Every token over the checkpoint of tsa, which is the one by which a quorum of authorities claims the time',
})

export const AssuranceLevel = Type.Enum(['none', 'operator', 'independent'])
export const AssuranceNote = closed({ time: AssuranceLevel, anchor: AssuranceLevel, note: Type.String() })
export type AssuranceNote = Static<typeof AssuranceNote>

const failure = { error: opt(Type.String()), code: opt(Type.String()) }

export const MerkleProof = closed({
  status: VerificationStatus,
  txId: Type.String(),
  merkleRoot: opt(Hash),
  leafIndex: opt(Count),
  proof: opt(Type.Array(ProofItem)),
  ...failure,
  treeSize: opt(Count),
  batchId: opt(Id),
  sendStatus: opt(SendStatus),
  checkpoint: opt(Type.String()),
  opening: opt(Type.String()),
  assurance: opt(AssuranceNote),
})
export type MerkleProof = Static<typeof MerkleProof>

export const MerkleValidation = closed({
  status: VerificationStatus,
  valid: Type.Boolean(),
  computedRoot: opt(Hash),
  expectedRoot: opt(Type.String()),
  ...failure,
  txIdKnown: opt(Type.Boolean()),
  rootKnown: opt(Type.Boolean()),
  sendStatus: opt(SendStatus),
})
export type MerkleValidation = Static<typeof MerkleValidation>

export const EvidenceProof = closed({
  status: VerificationStatus,
  evidenceId: Type.String(),
  txId: opt(Hash),
  blockNumber: opt(Count),
  createdAt: opt(DateTime),
  fileCount: opt(Count),
  merkle: opt(EventMerkleProof),
  tsa: opt(TsaProof),
  tsas: opt(Tsas),
  ...failure,
  opening: opt(Type.String()),
  assurance: opt(AssuranceNote),
})
export type EvidenceProof = Static<typeof EvidenceProof>

export const FileProof = closed({
  status: VerificationStatus,
  fileId: Type.String(),
  evidenceId: Type.String(),
  txId: opt(Hash),
  blockNumber: opt(Count),
  eventTimestamp: opt(DateTime),
  merkle: opt(EventMerkleProof),
  tsa: opt(TsaProof),
  tsas: opt(Tsas),
  ...failure,
  opening: opt(Type.String()),
  filesText: opt(Type.String()),
  filesSalt: opt(Hash),
  deletion: opt(
    closed({
      txId: Hash,
      eventTimestamp: DateTime,
      blockNumber: opt(Count),
      merkle: opt(EventMerkleProof),
      tsa: opt(TsaProof),
      tsas: opt(Tsas),
    }),
  ),
  assurance: opt(AssuranceNote),
})
export type FileProof = Static<typeof FileProof>

export const MerkleRoot = closed({
  status: VerificationStatus,
  merkleRoot: opt(Hash),
  txidCount: opt(Count),
  sendStatus: opt(SendStatus),
  treeDepth: opt(Count),
  createdAt: opt(DateTime),
  tsaGenTime: opt(DateTime),
  tsaSerial: opt(Type.String()),
  tsaPolicy: opt(Type.String()),
  batchId: opt(Id),
  ...failure,
})
export type MerkleRoot = Static<typeof MerkleRoot>
