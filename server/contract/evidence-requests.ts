import Type, { type Static } from '#typebox'
import type {
  EventQuery,
  EvidenceChange,
  EvidenceQuery,
  HistoryQuery,
  NewEvidence as CoreNewEvidence,
  NewEvidences,
  StagedFile,
} from '../../core/index.ts'
import {
  evidenceChangeMembers,
  evidenceMembers,
  MAX_BULK_EVIDENCES,
  MAX_HISTORY_LENGTH,
  MAX_LIST_LENGTH,
  UPDATE_TYPES,
} from '../../core/schemas/index.ts'
import { HttpError } from './errors.ts'
import {
  CategoryName,
  closed,
  defined,
  opt,
  pageLength,
  pageQuery,
  Person,
  Text,
  TextBoolean,
  time,
  TimeInput,
} from './values.ts'

/** Proxies give a response up after 60 s. */
const MAX_WAIT_S = 55

/** An evidence whose category is in the path, or one of a bulk create. */
export const EvidenceInput = closed(evidenceMembers)

/** Endpoint 8: an evidence with its category, each level by id or by name. An id takes precedence. */
export const NewEvidence = closed({
  categoryName: opt(CategoryName),
  categoryId: opt(Type.String()),
  subcategoryName: opt(CategoryName),
  subcategoryId: opt(Type.String()),
  ...evidenceMembers,
})
export type NewEvidence = Static<typeof NewEvidence>

/** Endpoint 9 with many evidences. They are created together or not at all. */
export const BulkEvidences = closed({
  evidences: Type.Array(EvidenceInput, {
    minItems: 1,
    maxItems: MAX_BULK_EVIDENCES,
    description: `1 to ${MAX_BULK_EVIDENCES} evidences, all or none`,
  }),
})
/** What endpoint 9 accepts: one evidence, or many. */
export const EvidenceOrBulk = Type.Union([EvidenceInput, BulkEvidences])
export type EvidenceOrBulk = Static<typeof EvidenceOrBulk>

const UpdateAction = Type.Enum(['update', 'transfer'])
const UpdateActionType = Type.Enum(UPDATE_TYPES)
/** Endpoint 12. A field that is not given stays as it is; `clear` removes values. */
export const EvidenceUpdate = closed({
  updateActionDescription: opt(Text),
  updateActionPersona: opt(Person),
  ...evidenceChangeMembers,
  action: opt(UpdateAction),
  actionType: opt(UpdateActionType),
  stolen: opt(Type.Boolean()),
})
export type EvidenceUpdate = Static<typeof EvidenceUpdate>

/** The filters, the order and the page of a list. All conditions must hold. */
export const EvidenceListQuery = closed({
  categoryId: opt(Type.String()),
  subcategoryId: opt(Type.String()),
  externalId: opt(Type.String({ description: 'The beginning of the external id, in upper and lower case as it is' })),
  q: opt(
    Type.String({
      description:
        'Words, each of which begins a word of the name, the external id or the owner. Summary, description and meta ' +
        'are not searched.',
    }),
  ),
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

/** Which events of a history are returned, and whether with what is needed to recompute their txIds. */
export const EvidencePageQuery = closed({
  last: opt(Type.Integer({ minimum: 0, description: 'an integer of at least 0' })),
  len: opt(pageLength(MAX_HISTORY_LENGTH)),
  disclose: opt(TextBoolean),
})
export type EvidencePageQuery = Static<typeof EvidencePageQuery>

/** Where the events of a company are read, and for how long to wait for the next one. */
export const EventsQuery = closed({
  after: opt(
    Type.String({
      description: '`cursor` of the page or the event before, or `latest`: only what is recorded from now on',
    }),
  ),
  len: opt(pageLength()),
  wait: opt(
    Type.Integer({ minimum: 0, maximum: MAX_WAIT_S, description: `an integer of 0 to ${MAX_WAIT_S}: seconds` }),
  ),
})
export type EventsQuery = Static<typeof EventsQuery>

// -- translation

/** The files of a request that creates one evidence. */
export interface EvidenceFiles {
  readonly image: StagedFile | undefined
  readonly files: readonly StagedFile[]
}

/** The members of the category are flat in a request, and nested in the core. */
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

/** The core calls some fields differently: `withWireNames` translates them back in its errors. */
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

/** Pages have at most 1,000 evidences: a longer `len` counts as 1,000. */
export const evidenceQuery = (query: EvidenceListQuery): EvidenceQuery => {
  const { len, last, next, externalId, q, createdFrom, createdTo, ...same } = query
  return {
    ...same,
    ...defined({
      externalIdPrefix: externalId,
      words: q,
      createdFrom: time(createdFrom),
      createdTo: time(createdTo),
      limit: len && Math.min(len, MAX_LIST_LENGTH),
      after: last,
      cursor: next,
    }),
  }
}

/** Pages have at most 500 events: a longer `len` counts as 500. */
export const historyQuery = ({ len, last, disclose }: EvidencePageQuery): HistoryQuery =>
  defined({ after: last, limit: len && Math.min(len, MAX_HISTORY_LENGTH), disclose })

/** Pages have at most 1,000 events: a longer `len` counts as 1,000. */
export const eventQuery = ({ len, after }: EventsQuery): EventQuery => pageQuery({ len, last: after })
