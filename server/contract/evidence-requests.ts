import Type, { type Static } from '#typebox'
import type {
  EvidenceChange,
  EvidenceQuery,
  HistoryQuery,
  NewEvidence as CoreNewEvidence,
  NewEvidences,
  StagedFile,
} from '../../core/index.ts'
import { HttpError } from './errors.ts'
import {
  CategoryName,
  clearSchema,
  closed,
  defined,
  ExternalId,
  Line,
  MAX_LIST_LENGTH,
  Meta,
  Name,
  opt,
  pageLength,
  Text,
  TextBoolean,
  time,
  TimeInput,
} from './values.ts'

const MAX_BULK_EVIDENCES = 1_000
const MAX_HISTORY_LENGTH = 500

const evidenceInput = {
  externalId: ExternalId,
  name: Name,
  owner: opt(Line),
  description: opt(Text),
  summary: opt(Text),
  meta: opt(Meta),
}
export const EvidenceInput = closed(evidenceInput)
export type EvidenceInput = Static<typeof EvidenceInput>

export const NewEvidence = closed({
  categoryName: opt(CategoryName),
  categoryId: opt(Type.String()),
  subcategoryName: opt(CategoryName),
  subcategoryId: opt(Type.String()),
  ...evidenceInput,
})
export type NewEvidence = Static<typeof NewEvidence>

export const BulkEvidences = closed({
  evidences: Type.Array(EvidenceInput, {
    minItems: 1,
    maxItems: MAX_BULK_EVIDENCES,
    description: `1 to ${MAX_BULK_EVIDENCES} evidences, all or none`,
  }),
})
export const EvidenceOrBulk = Type.Union([EvidenceInput, BulkEvidences])
export type EvidenceOrBulk = Static<typeof EvidenceOrBulk>

const UpdateAction = Type.Enum(['update', 'transfer'])
const UPDATE_TYPES = ['stolen', 'repair', 'custom', 'change'] as const
const UpdateActionType = Type.Enum(UPDATE_TYPES)
export const EvidenceUpdate = closed({
  updateActionDescription: opt(Text),
  updateActionPersona: opt(Line),
  name: opt(Name),
  owner: opt(Line),
  description: opt(Text),
  summary: opt(Text),
  eventDescription: opt(Text),
  meta: opt(Meta),
  clear: opt(clearSchema(['owner', 'description', 'summary', 'meta'])),
  action: opt(UpdateAction),
  actionType: opt(UpdateActionType),
  stolen: opt(Type.Boolean()),
})
export type EvidenceUpdate = Static<typeof EvidenceUpdate>

export const EvidenceListQuery = closed({
  categoryId: opt(Type.String()),
  subcategoryId: opt(Type.String()),
  externalId: opt(Type.String({ description: 'The beginning of the external id, in upper and lower case as it is' })),
  owner: opt(Type.String({ description: 'The whole name of the current owner, in upper or lower case' })),
  status: opt(Type.Enum(['active', 'stolen'])),
  createdFrom: opt(TimeInput),
  createdTo: opt(TimeInput),
  sort: opt(Type.Enum(['updated'], { description: 'By the time of the last event, latest first' })),
  len: opt(pageLength()),
  last: opt(Type.String({ description: 'Id of the last item that you have; not with a filter that needs `next`' })),
  next: opt(Type.String({ description: '`next` of the page before; the rest of the query must be the same' })),
})
export type EvidenceListQuery = Static<typeof EvidenceListQuery>

export const EvidencePageQuery = closed({
  last: opt(Type.Integer({ minimum: 0, description: 'an integer of at least 0' })),
  len: opt(pageLength(MAX_HISTORY_LENGTH)),
  disclose: opt(TextBoolean),
})
export type EvidencePageQuery = Static<typeof EvidencePageQuery>

// -- translation

/** The files of a request that creates one evidence. */
export interface EvidenceFiles {
  readonly image: StagedFile | undefined
  readonly files: readonly StagedFile[]
}

export function newEvidence(request: NewEvidence, { image, files }: EvidenceFiles): CoreNewEvidence {
  const { categoryId, categoryName, subcategoryId, subcategoryName, ...evidence } = request
  const category = defined({ id: categoryId, name: categoryName })
  const subcategory = defined({ id: subcategoryId, name: subcategoryName })
  return Object.assign(evidence, { category, subcategory, files }, defined({ image }))
}

/** Endpoint 9: one evidence with its files, or many without. */
export function newEvidences(
  request: EvidenceOrBulk,
  path: { readonly categoryId: string; readonly subcategoryId: string },
  { image, files }: EvidenceFiles,
): NewEvidences {
  if (!('evidences' in request)) return { ...path, evidences: [request], ...defined({ image }), files }
  if (image !== undefined || files.length > 0)
    throw new HttpError('VALIDATION_ERROR', 'evidences must be sent without files')
  return { ...path, evidences: request.evidences }
}

/** A client of the plain contract has no `actionType`: one of its words as the whole description stands for it. */
function actionTypeOf(description = ''): EvidenceUpdate['actionType'] {
  const word = description.trim().toLowerCase()
  return UPDATE_TYPES.find((type) => type === word)
}

export function evidenceChange(request: EvidenceUpdate, files: readonly StagedFile[]): EvidenceChange {
  const { updateActionDescription, updateActionPersona, action, actionType, ...change } = request
  return {
    ...change,
    ...defined({
      updateDescription: updateActionDescription,
      persona: updateActionPersona,
      expectedType: action,
      updateType: actionType ?? actionTypeOf(updateActionDescription),
    }),
    files,
  }
}

export const evidenceQuery = (query: EvidenceListQuery): EvidenceQuery => {
  const { len, last, next, externalId, createdFrom, createdTo, ...same } = query
  return {
    ...same,
    ...defined({
      externalIdPrefix: externalId,
      createdFrom: time(createdFrom),
      createdTo: time(createdTo),
      limit: len && Math.min(len, MAX_LIST_LENGTH),
      after: last,
      cursor: next,
    }),
  }
}

export const historyQuery = ({ len, last, disclose }: EvidencePageQuery): HistoryQuery =>
  defined({ after: last, limit: len && Math.min(len, MAX_HISTORY_LENGTH), disclose })
