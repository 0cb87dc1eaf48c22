import Type from '#typebox'
import {
  CategoryName,
  clearSchema,
  closed,
  ExternalId,
  ExternalIdPrefix,
  IdToFind,
  type Input,
  limitSchema,
  Meta,
  Name,
  opt,
  Person,
  Text,
  Time,
} from './fields.ts'
import { StagedFile, StagedFiles } from './file-inputs.ts'

/** What the operations on evidences take. The members that the server's requests have, too, are exported apart. */

export const evidenceMembers = {
  /** 1 to 128 characters without control characters, but not `.` or `..`. Unique in the company; compared exactly. */
  externalId: ExternalId,
  /** 1 to 256 characters without control characters. */
  name: Name,
  /** At most 256 characters without control characters. */
  owner: opt(Person),
  /** At most 8,192 characters. */
  description: opt(Text),
  /** At most 8,192 characters. */
  summary: opt(Text),
  meta: opt(Meta),
}

const evidenceInput = closed(evidenceMembers)
/** What describes an evidence, without its category. */
export type EvidenceInput = Input<typeof evidenceInput>

const categorySelector = closed({ id: opt(IdToFind), name: opt(CategoryName) })
/**
 * A category or subcategory by id, or by a name that is created if it does not exist. If both are given they must
 * agree.
 */
export type CategorySelector = Input<typeof categorySelector>
const CategorySelector = Type.Unsafe<CategorySelector>(categorySelector)

export const NewEvidence = closed({
  ...evidenceMembers,
  /** `{}` if the subcategory has an id: its category follows. */
  category: CategorySelector,
  subcategory: CategorySelector,
  /** Counts as a file. If its media type is that of an image, it becomes the evidence's image. */
  image: opt(StagedFile),
  files: opt(StagedFiles),
})
export type NewEvidence = Input<typeof NewEvidence>

/** How many evidences one call creates at most. */
export const MAX_BULK_EVIDENCES = 1_000

export const NewEvidences = closed({
  categoryId: IdToFind,
  subcategoryId: IdToFind,
  /** 1 to 1,000. */
  evidences: Type.Array(Type.Unsafe<EvidenceInput>(evidenceInput), {
    minItems: 1,
    maxItems: MAX_BULK_EVIDENCES,
    description: `an array of 1 to ${MAX_BULK_EVIDENCES} evidences`,
  }),
  /** Only if there is exactly one evidence. */
  image: opt(StagedFile),
  /** Only if there is exactly one evidence. */
  files: opt(StagedFiles),
})
export type NewEvidences = Input<typeof NewEvidences>

export const evidenceChangeMembers = {
  name: opt(Name),
  /** A value other than the current one records a `transfer` event. */
  owner: opt(Person),
  description: opt(Text),
  summary: opt(Text),
  /** At most 8,192 characters. Recorded on every event of this update, as `updateDescription` and `persona`. */
  eventDescription: opt(Text),
  /** Replaces the previous value, also if it is `{}`. */
  meta: opt(Meta),
  /**
   * Removes these values. A value must not be both cleared and given. Removing the owner records a `transfer` event.
   */
  clear: opt(clearSchema(['owner', 'description', 'summary', 'meta'])),
}

/** The types that a request can give the content event of an update. */
export const UPDATE_TYPES = ['stolen', 'repair', 'custom', 'change'] as const

export const EvidenceChange = closed({
  ...evidenceChangeMembers,
  /** At most 8,192 characters. */
  updateDescription: opt(Text),
  /** At most 256 characters without control characters. */
  persona: opt(Person),
  /** Attached by one `addfile` event. */
  files: opt(StagedFiles),
  /** Sets the `updateType` of the content event, and records that event even if nothing changed. */
  updateType: opt(Type.Enum(UPDATE_TYPES)),
  /** Only with `updateType: 'stolen'`. False resets the status to `active`. Default true. */
  stolen: opt(Type.Boolean({ description: 'a boolean' })),
  /** Throws `VALIDATION_ERROR` if the update records no event of this type. */
  expectedType: opt(Type.Enum(['update', 'transfer'])),
})
/**
 * At least one value must differ from the current one, or a text or file must be given. An empty text other than `name`
 * means that the value is not given. Limits are those of `EvidenceInput`.
 */
export type EvidenceChange = Input<typeof EvidenceChange>

export const EvidenceQuery = closed({
  categoryId: opt(IdToFind),
  subcategoryId: opt(IdToFind),
  /** 1 to 128 characters with which the external id begins, compared exactly. */
  externalIdPrefix: opt(ExternalIdPrefix),
  /**
   * 1 to 256 characters. Every word of it must begin a word of the name, the external id or the owner. Words consist of
   * letters and digits, and are compared in NFKC without case; the first 12 distinct ones of an evidence are found, by
   * their first 32 characters.
   */
  words: opt(Name),
  /** 1 to 256 characters. The whole name of the current owner; upper and lower case are the same. */
  owner: opt(Name),
  status: opt(Type.Enum(['active', 'stolen'])),
  /** Created at this time or later. */
  createdFrom: opt(Time),
  /** Created before this time. */
  createdTo: opt(Time),
  /** `updated`: by the time of the last event, latest first. Default: by creation, newest first. */
  sort: opt(Type.Enum(['updated'])),
  /** 1 to 1,000. Default 100. */
  limit: opt(limitSchema()),
  /** Id of the last evidence that the caller has. Only for lists that are neither filtered nor sorted. */
  after: opt(IdToFind),
  /** `next` of the page before. The rest of the query except `limit` must be the same as for that page. */
  cursor: opt(IdToFind),
})
/** A list is filtered or sorted if the query has `sort` or a filter other than the category or subcategory. */
export type EvidenceQuery = Input<typeof EvidenceQuery>

/** Which evidences of a company match. All conditions must hold. An unknown category matches nothing. */
export type EvidenceFilter = Omit<EvidenceQuery, 'sort' | 'limit' | 'after' | 'cursor'>

/** How many events a page of a history has at most. */
export const MAX_HISTORY_LENGTH = 500

export const HistoryQuery = closed({
  /** Return events after this version. Default 0. */
  after: opt(Type.Integer({ minimum: 0, description: 'an integer of at least 0' })),
  /** 1 to 500. Default 50. */
  limit: opt(limitSchema(MAX_HISTORY_LENGTH)),
  /** Adds `disclosure` to each event. Default false. */
  disclose: opt(Type.Boolean({ description: 'a boolean' })),
})
export type HistoryQuery = Input<typeof HistoryQuery>

export const EventQuery = closed({
  /** A cursor of an event or of a page, or `latest`: behind the last event. Default: before the first one. */
  after: opt(IdToFind),
  /** 1 to 1,000. Default 100. */
  limit: opt(limitSchema()),
})
export type EventQuery = Input<typeof EventQuery>
