import type { Context } from 'koa'
import { MerkleValidationRequest } from '../../core/registry/schemas.ts'
import {
  EvidenceProof,
  FileProof,
  MerkleProof,
  MerkleRoot,
  MerkleValidation,
  type VerificationStatus,
} from '../../core/registry/proof/schemas.ts'
import type { Static } from 'typebox'
import { endpoint, type EndpointGroup } from '../contract/endpoint.ts'
import { CompanyQuery } from '../contract/shapes.ts'

/** The HTTP status of each verification status that is no success; all others are 200. */
const STATUS: Partial<Record<Static<typeof VerificationStatus>, number>> = {
  not_found: 404,
  ambiguous: 409,
  invalid: 400,
}

function answer<T extends { readonly status: Static<typeof VerificationStatus> }>(ctx: Context, proof: T): T {
  ctx.status = STATUS[proof.status] ?? 200
  return proof
}

const notFound = { 404: 'Not in this registry' }
const ambiguous = { 409: 'Several companies use this external id: name one by companyId' }
const EVIDENCE = '/merkle/verify/{evidenceId}'

/** Endpoints 19 to 22 of the contract, and what belongs to them: for anyone, without a key. */
export const verification: EndpointGroup = {
  tag: 'Verification',
  description: 'Proofs, for anyone and without a key',
  errorShape: 'verification',
  endpoints: [
    endpoint({
      id: 'validateProof',
      method: 'POST',
      path: '/merkle/validate',
      access: 'public',
      summary: 'Recompute a root from a proof',
      description:
        '`valid` says that the path leads to `merkleRoot`; `unknown_root` that this log never sealed that root. Without positions, leaf index and tree size come from the batch of `txId`.',
      body: {
        schema: MerkleValidationRequest,
        example: {
          txId: '0'.repeat(64),
          merkleRoot: '0'.repeat(64),
          proof: [{ hash: '0'.repeat(64), position: 'left' }],
        },
      },
      answer: { schema: MerkleValidation },
      handle: ({ registry, input }) => registry.proofs.validate(input),
    }),
    endpoint({
      id: 'verifyEvidence',
      method: 'GET',
      path: EVIDENCE,
      access: 'public',
      summary: 'Prove an evidence',
      description: '`evidenceId` is the internal id, which always wins, or the external one.',
      query: CompanyQuery,
      answer: { schema: EvidenceProof, others: { ...notFound, ...ambiguous } },
      handle: async ({ registry, ctx, param, query }) =>
        answer(ctx, await registry.proofs.evidence(param('evidenceId'), query.companyId)),
    }),
    endpoint({
      id: 'verifyFile',
      method: 'GET',
      path: `${EVIDENCE}/{fileId}`,
      access: 'public',
      summary: 'Prove a file of an evidence',
      query: CompanyQuery,
      answer: { schema: FileProof, others: { ...notFound, ...ambiguous } },
      handle: async ({ registry, ctx, param, query }) =>
        answer(ctx, await registry.proofs.file(param('evidenceId'), param('fileId'), query.companyId)),
    }),
    endpoint({
      id: 'getProof',
      method: 'GET',
      path: '/merkle/proof/{txid}',
      access: 'public',
      summary: "A transaction's path to the root of its batch",
      answer: { schema: MerkleProof, others: notFound },
      handle: async ({ registry, ctx, param }) => answer(ctx, await registry.proofs.proof(param('txid'))),
    }),
    endpoint({
      id: 'getRoot',
      method: 'GET',
      path: '/merkle/root/{txid}',
      access: 'public',
      summary: "The root of a transaction's batch, and its time stamp",
      answer: { schema: MerkleRoot, others: notFound },
      handle: async ({ registry, ctx, param }) => answer(ctx, await registry.proofs.root(param('txid'))),
    }),
    endpoint({
      id: 'getTimestampToken',
      method: 'GET',
      path: '/merkle/tsa/{batchId}',
      access: 'public',
      summary: 'The time stamp that covers a batch: a whole RFC 3161 TimeStampResp, DER',
      answer: { media: 'application/timestamp-reply', description: 'The DER bytes' },
      errors: ['BATCH_NOT_FOUND'],
      async handle({ registry, ctx, param }) {
        const token = await registry.proofs.timestampToken(param('batchId'))
        ctx.set('Content-Type', 'application/timestamp-reply')
        ctx.body = Buffer.from(token)
      },
    }),
  ],
}
