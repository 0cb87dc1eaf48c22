import type { EvidenceRecord } from '../../store/records.ts'
import Type from '#typebox'
import { stagedFileSchema } from '../file/find.ts'
import {
  CategoryName,
  closed,
  ExternalIdPrefix,
  IdToFind,
  limitSchema,
  Name,
  opt,
  Person,
  Text,
  Time,
} from '../../schemas/fields.ts'
import { evidenceChangeMembers, evidenceMembers, UPDATE_TYPES } from '../../schemas/inputs.ts'

/** The same as the input types in core/api/evidences.ts. */

export const MAX_BULK_EVIDENCES = 1_000
const MAX_LIST_LENGTH = 1_000
const MAX_HISTORY_LENGTH = 500

const files = opt(Type.Array(stagedFileSchema, { description: 'an array of staged files' }))

const categorySelector = closed({ id: opt(IdToFind), name: opt(CategoryName) })

export const newEvidenceSchema = closed({
  ...evidenceMembers,
  category: categorySelector,
  subcategory: categorySelector,
  image: opt(stagedFileSchema),
  files,
})

export const newEvidencesSchema = closed({
  categoryId: IdToFind,
  subcategoryId: IdToFind,
  evidences: Type.Array(closed(evidenceMembers), {
    minItems: 1,
    maxItems: MAX_BULK_EVIDENCES,
    description: `an array of 1 to ${MAX_BULK_EVIDENCES} evidences`,
  }),
  image: opt(stagedFileSchema),
  files,
})

export const evidenceChangeSchema = closed({
  ...evidenceChangeMembers,
  updateDescription: opt(Text),
  persona: opt(Person),
  files,
  updateType: opt(Type.Enum(UPDATE_TYPES)),
  stolen: opt(Type.Boolean({ description: 'a boolean' })),
  expectedType: opt(Type.Enum(['update', 'transfer'])),
})

export const evidenceQuerySchema = closed({
  categoryId: opt(IdToFind),
  subcategoryId: opt(IdToFind),
  externalIdPrefix: opt(ExternalIdPrefix),
  words: opt(Name),
  owner: opt(Name),
  status: opt(Type.Enum(['active', 'stolen'])),
  createdFrom: opt(Time),
  createdTo: opt(Time),
  sort: opt(Type.Enum(['updated'])),
  limit: opt(limitSchema(MAX_LIST_LENGTH)),
  after: opt(IdToFind),
  cursor: opt(IdToFind),
})

export const historyQuerySchema = closed({
  after: opt(Type.Integer({ minimum: 0, description: 'an integer of at least 0' })),
  limit: opt(limitSchema(MAX_HISTORY_LENGTH)),
  disclose: opt(Type.Boolean({ description: 'a boolean' })),
})

export const eventQuerySchema = closed({
  after: opt(IdToFind),
  limit: opt(limitSchema(MAX_LIST_LENGTH)),
})

type Details = { readonly [K in 'description' | 'summary' | 'owner' | 'meta']?: EvidenceRecord[K] }

/** The details that are set. An empty text means that there is none. */
export const givenDetails = ({ description, summary, owner, meta }: Details) => ({
  description: description || undefined,
  summary: summary || undefined,
  owner: owner || undefined,
  meta,
})
