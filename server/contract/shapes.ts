import Type from 'typebox'
import {
  Base64,
  closed,
  CreatedEvidence,
  CreatedEvidences,
  EvidenceInput,
  Hash,
  Id,
  MAX_BATCH_EVIDENCES,
  RecordedEvent,
  SourceSystem,
} from '../../core/registry/schemas.ts'

/** The shapes that only HTTP has: what wraps the registry's own, and how failures look. */

export const Ok = closed({ status: Type.Literal('ok') })
export const Created = closed({ id: Id })
export const ImageChanged = closed(
  { imageId: Type.Optional(Id) },
  { description: 'Without imageId where there is no image' },
)
export const CreatedSourceSystem = closed({
  id: Id,
  apiKey: Type.Optional(Type.String({ description: 'Only where the service made it, and only this once' })),
})
export const SourceSystemList = closed({ sourceSystems: Type.Array(SourceSystem), count: Type.Integer({ minimum: 0 }) })

/** Endpoint 8 shows its one event at the top too. */
export const CreatedEvidenceAnswer = closed({ ...CreatedEvidence.properties, ...RecordedEvent.properties })
export const CreatedEvidencesAnswer = closed({
  ...CreatedEvidences.properties,
  txId: Type.Optional(Hash),
  version: Type.Optional(RecordedEvent.properties.version),
})
export const UpdatedEvidence = closed({ status: Type.Literal('ok'), events: Type.Array(RecordedEvent) })

export const EvidenceBatch = closed({
  evidences: Type.Array(EvidenceInput, {
    minItems: 1,
    maxItems: MAX_BATCH_EVIDENCES,
    description: `1 to ${MAX_BATCH_EVIDENCES} evidences, all or none`,
  }),
})
export const EvidenceOrBatch = Type.Union([EvidenceInput, EvidenceBatch])

export const TokenRequest = closed({ fileId: Id })
export const DownloadQuery = closed({
  fileId: Type.Optional(Type.String({ description: 'Id of the file; a token names it too' })),
  evidenceId: Type.Optional(Type.String({ description: 'External id of the evidence that must own the file' })),
  categoryId: Type.Optional(Type.String({ description: 'Category that must own the file' })),
  subcategoryId: Type.Optional(Type.String({ description: 'Subcategory that must own the file' })),
  mimeType: Type.Optional(Type.String({ description: 'Content-Type of the answer: one of the inert types' })),
  token: Type.Optional(Type.String({ description: 'Opens one file for five minutes without a key' })),
})

export const CompanyQuery = closed({
  companyId: Type.Optional(Type.String({ description: 'Decides where several companies use this external id' })),
})

// -- failures

export const AuthorizationError = closed(
  { statusCode: Type.Enum([401, 403]), message: Type.Enum(['Unauthorized', 'Forbidden resource']) },
  { description: 'No key, a wrong one, or one that may not do this' },
)
export const OperationError = closed(
  { error: Type.String({ description: 'For people; may change' }), code: Type.String({ description: 'Stable' }) },
  { description: 'Every other failure' },
)
/** Open, because a proof that was not found also repeats what was asked for. */
export const VerificationError = Type.Object(
  {
    status: Type.Enum(['invalid', 'not_found', 'ambiguous', 'error'], {
      description: 'error says nothing about what was asked for',
    }),
    error: Type.String(),
    code: Type.String(),
  },
  { description: 'A failure of a verification endpoint' },
)

export const InlineImage = closed(
  { name: Type.Optional(Type.String()), mimeType: Type.String(), data: Base64 },
  { description: 'An image in JSON: base64 of at most 5 MiB' },
)
