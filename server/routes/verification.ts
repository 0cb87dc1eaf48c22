import type { EvidenceSelector, Registry } from '../../core/index.ts'
import {
  Bundle,
  EvidenceProof,
  FileProof,
  MerkleProof,
  MerkleRoot,
  MerkleValidation,
  MerkleValidationRequest,
  BUNDLE_MEDIA_TYPE,
  type PublicBundle,
} from '../../core/schemas/index.ts'
import { bundleReply, FormatQuery, ProofQuery } from '../contract/bundles.ts'
import { endpoint, type EndpointGroup } from '../contract/endpoint.ts'
import { HttpError } from '../contract/errors.ts'
import { bytes, json, type JsonReply, type Reply } from '../contract/reply.ts'
import { httpStatusOf, type Proof } from '../contract/verification.ts'

const proofReply = (proof: Proof): JsonReply => json(proof, { status: httpStatusOf(proof) })

const BUNDLE = { [BUNDLE_MEDIA_TYPE]: Bundle }
const TLOG_PROOF = 'text/plain; charset=utf-8'

/** The same proof as one file that can be verified offline. A failure has the usual document. */
async function publicBundle(
  registry: Registry,
  subject: EvidenceSelector & { readonly fileId?: string },
): Promise<Reply> {
  const { evidenceId, fileId } = subject
  const ids = { evidenceId, ...(fileId !== undefined && { fileId }) }
  return bundleOr(await registry.proofs.publicBundle(subject), fileId ?? evidenceId, ids)
}

/** `id` names the download, `ids` are members of a failure. */
function bundleOr(result: PublicBundle, id: string, ids: object): Reply {
  if (result.status === 'ok') return bundleReply(result.bundle, id)
  return json({ ...result, ...ids }, { status: httpStatusOf(result) })
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
        '`valid`: the path leads to `merkleRoot`. `unknown_root`: this log never sealed that root. Without ' +
        'positions, leaf index and tree size are those of the batch of `txId`.',
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
      handle: async ({ registry, input }) => json(await registry.proofs.validate(input)),
    }),
    endpoint({
      id: 'verifyEvidence',
      method: 'GET',
      path: EVIDENCE,
      access: 'public',
      summary: 'Prove an evidence',
      description:
        '`evidenceId` is the internal id, which takes precedence, or the external id. With `companyId` the ' +
        'external id takes precedence. If several companies use the external id, choose one of the ' +
        '`candidates` by its internal id or by `txId`, or name the company.',
      query: ProofQuery,
      response: { schema: EvidenceProof, media: BUNDLE, others: { ...notFound, ...ambiguous } },
      handle({ registry, param, query, target, replyCache }) {
        const { format, ...company } = query
        const subject = { evidenceId: param('evidenceId'), ...company }
        if (format === 'bundle') return publicBundle(registry, subject)
        return replyCache.read(
          target,
          (cached) => registry.proofs.evidenceIfChanged(subject, cached),
          (proof) => proofReply(proof),
        )
      },
    }),
    endpoint({
      id: 'verifyFile',
      method: 'GET',
      path: `${EVIDENCE}/{fileId}`,
      access: 'public',
      summary: 'Prove a file of an evidence',
      description:
        '`opening`, `filesText` and `filesSalt` lead from the file to the txId. Of a deleted file, ' +
        '`deletion` proves the deletion.',
      query: ProofQuery,
      response: { schema: FileProof, media: BUNDLE, others: { ...notFound, ...ambiguous } },
      async handle({ registry, param, query }) {
        const { format, ...company } = query
        const subject = { evidenceId: param('evidenceId'), fileId: param('fileId'), ...company }
        if (format === 'bundle') return publicBundle(registry, subject)
        return proofReply(await registry.proofs.file(subject))
      },
    }),
    endpoint({
      id: 'getProof',
      method: 'GET',
      path: '/merkle/proof/{txid}',
      access: 'public',
      summary: "A transaction's path to the root of its batch",
      description: 'The txId is that of an event, and not a transaction of a chain.',
      query: FormatQuery,
      response: { schema: MerkleProof, media: BUNDLE, others: notFound },
      async handle({ registry, param, query: { format } }) {
        const txId = param('txid')
        if (format === 'bundle') return bundleOr(await registry.proofs.eventBundle(txId), txId, { txId })
        return proofReply(await registry.proofs.transaction(txId))
      },
    }),
    endpoint({
      id: 'getTlogProof',
      method: 'GET',
      path: '/merkle/tlog-proof/{txid}',
      access: 'public',
      summary: 'The proof of a transaction as a text that other tools of C2SP read: a tlog-proof',
      description:
        'Under the smallest checkpoint that holds it and that a key which is not retired signed. `extra` is the ' +
        'opening. 404 also until the event is sealed.',
      response: { media: TLOG_PROOF, description: 'A C2SP tlog-proof' },
      errors: ['NOT_FOUND'],
      async handle({ registry, param }) {
        const proof = await registry.proofs.tlogProof(param('txid'))
        if (proof === undefined) throw new HttpError('NOT_FOUND', 'No signed tree of this log holds the txId yet')
        return bytes(TLOG_PROOF, proof)
      },
    }),
    endpoint({
      id: 'getRoot',
      method: 'GET',
      path: '/merkle/root/{txid}',
      access: 'public',
      summary: "The root of a transaction's batch, and its time stamp",
      description: '`status` is `pending` until the event is sealed.',
      response: { schema: MerkleRoot, others: notFound },
      handle: async ({ registry, param }) => proofReply(await registry.proofs.root(param('txid'))),
    }),
    endpoint({
      id: 'getTimestampToken',
      method: 'GET',
      path: '/merkle/tsa/{batchId}',
      access: 'public',
      summary: 'The time stamp that covers a batch: a whole RFC 3161 TimeStampResp, DER',
      description: 'Check it with `openssl ts -verify` over the bytes of the checkpoint.',
      response: { media: 'application/timestamp-reply', description: 'The DER bytes' },
      errors: ['BATCH_NOT_FOUND'],
      handle: async ({ registry, param }) =>
        bytes('application/timestamp-reply', await registry.proofs.timestampToken(param('batchId'))),
    }),
  ],
}
