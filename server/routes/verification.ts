import type { Context } from 'koa'
import { EvidenceProof, FileProof, MerkleProof, MerkleRoot, MerkleValidation } from '../../core/index.ts'
import { endpoint, type EndpointGroup } from '../contract/endpoint.ts'
import { CompanyQuery, httpStatusOf, MerkleValidationRequest, type Proof } from '../contract/verification.ts'

function respond<T extends Proof>(ctx: Context, proof: T): T {
  ctx.status = httpStatusOf(proof)
  return proof
}

const notFound = { 404: 'Not in this registry' }
const ambiguous = { 409: 'Several companies use this external id: choose one by companyId' }
const EVIDENCE = '/merkle/verify/{evidenceId}'

/** Endpoints 19 to 22 of the contract, and the other public proofs. They need no key. */
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
        '`valid`: the path leads to `merkleRoot`. `unknown_root`: this log never sealed that root. Without positions, leaf index and tree size are those of the batch of `txId`.',
      body: {
        schema: MerkleValidationRequest,
        example: {
          txId: '0'.repeat(64),
          merkleRoot: '0'.repeat(64),
          proof: [{ hash: '0'.repeat(64), position: 'left' }],
        },
      },
      response: { schema: MerkleValidation },
      handle: ({ registry, input }) => registry.proofs.validate(input),
    }),
    endpoint({
      id: 'verifyEvidence',
      method: 'GET',
      path: EVIDENCE,
      access: 'public',
      summary: 'Prove an evidence',
      description: '`evidenceId` is the internal id, which takes precedence, or the external id.',
      query: CompanyQuery,
      response: { schema: EvidenceProof, others: { ...notFound, ...ambiguous } },
      handle: async ({ registry, ctx, param, query }) =>
        respond(ctx, await registry.proofs.evidence({ evidenceId: param('evidenceId'), ...query })),
    }),
    endpoint({
      id: 'verifyFile',
      method: 'GET',
      path: `${EVIDENCE}/{fileId}`,
      access: 'public',
      summary: 'Prove a file of an evidence',
      query: CompanyQuery,
      response: { schema: FileProof, others: { ...notFound, ...ambiguous } },
      handle: async ({ registry, ctx, param, query }) =>
        respond(
          ctx,
          await registry.proofs.file({ evidenceId: param('evidenceId'), fileId: param('fileId'), ...query }),
        ),
    }),
    endpoint({
      id: 'getProof',
      method: 'GET',
      path: '/merkle/proof/{txid}',
      access: 'public',
      summary: "A transaction's path to the root of its batch",
      response: { schema: MerkleProof, others: notFound },
      handle: async ({ registry, ctx, param }) => respond(ctx, await registry.proofs.transaction(param('txid'))),
    }),
    endpoint({
      id: 'getRoot',
      method: 'GET',
      path: '/merkle/root/{txid}',
      access: 'public',
      summary: "The root of a transaction's batch, and its time stamp",
      response: { schema: MerkleRoot, others: notFound },
      handle: async ({ registry, ctx, param }) => respond(ctx, await registry.proofs.root(param('txid'))),
    }),
    endpoint({
      id: 'getTimestampToken',
      method: 'GET',
      path: '/merkle/tsa/{batchId}',
      access: 'public',
      summary: 'The time stamp that covers a batch: a whole RFC 3161 TimeStampResp, DER',
      response: { media: 'application/timestamp-reply', description: 'The DER bytes' },
      errors: ['BATCH_NOT_FOUND'],
      async handle({ registry, ctx, param }) {
        const token = await registry.proofs.timestampToken(param('batchId'))
        ctx.set('Content-Type', 'application/timestamp-reply')
        ctx.body = Buffer.from(token)
      },
    }),
  ],
}
