import type { Context } from 'koa'
import {
  Bundle,
  BUNDLE_MEDIA_TYPE,
  EvidenceProof,
  type EvidenceSelector,
  FileProof,
  MerkleProof,
  MerkleRoot,
  MerkleValidation,
} from '../../core/index.ts'
import { ProofQuery, sendBundle } from '../contract/bundles.ts'
import { endpoint, type EndpointGroup, type EndpointRequest } from '../contract/endpoint.ts'
import { HttpError } from '../http/errors.ts'
import { httpStatusOf, MerkleValidationRequest, type Proof } from '../contract/verification.ts'

function respond<T extends Proof>(ctx: Context, proof: T): T {
  ctx.status = httpStatusOf(proof)
  return proof
}

const BUNDLE = { [BUNDLE_MEDIA_TYPE]: Bundle }

function proofQuery(query: ProofQuery): ProofQuery {
  const { format = 'json' } = query
  if (format === 'json' || format === 'bundle') return query
  throw new HttpError('VALIDATION_ERROR', 'format must be json or bundle')
}

/** The same proof as one file that can be verified offline. A failure has the usual document. */
async function respondBundle(
  { registry, ctx }: Pick<EndpointRequest, 'registry' | 'ctx'>,
  subject: EvidenceSelector & { readonly fileId?: string },
): Promise<unknown> {
  const result = await registry.proofs.publicBundle(subject)
  if (result.status === 'ok') return sendBundle(ctx, result.bundle, subject.fileId ?? subject.evidenceId)
  const { evidenceId, fileId } = subject
  ctx.status = httpStatusOf(result)
  return { ...result, evidenceId, ...(fileId !== undefined && { fileId }) }
}

const notFound = { 404: 'Not in this registry' }
const ambiguous = { 409: 'Several companies use this external id: `candidates` are the evidences that it can mean' }
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
        rejectsEmpty: true,
        maxTextBytes: 64 * 1024,
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
      description:
        '`evidenceId` is the internal id, which takes precedence, or the external id. With `companyId` the external id takes precedence. If several companies use the external id, choose one of the `candidates` by its internal id or by `txId`, or name the company.',
      query: ProofQuery,
      response: { schema: EvidenceProof, media: BUNDLE, others: { ...notFound, ...ambiguous } },
      async handle(request) {
        const { registry, ctx, param, query } = request
        const { format, ...company } = proofQuery(query)
        const subject = { evidenceId: param('evidenceId'), ...company }
        if (format === 'bundle') return respondBundle(request, subject)
        const { status, json } = await registry.proofs.evidenceJson(subject)
        ctx.status = httpStatusOf({ status })
        return json
      },
    }),
    endpoint({
      id: 'verifyFile',
      method: 'GET',
      path: `${EVIDENCE}/{fileId}`,
      access: 'public',
      summary: 'Prove a file of an evidence',
      query: ProofQuery,
      response: { schema: FileProof, media: BUNDLE, others: { ...notFound, ...ambiguous } },
      async handle(request) {
        const { registry, ctx, param, query } = request
        const { format, ...company } = proofQuery(query)
        const subject = { evidenceId: param('evidenceId'), fileId: param('fileId'), ...company }
        if (format === 'bundle') return respondBundle(request, subject)
        return respond(ctx, await registry.proofs.file(subject))
      },
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
