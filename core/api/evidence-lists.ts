import type { EvidenceStatus, EvidenceSummary } from './evidence.ts'
import type { EvidenceId } from './ids.ts'
import type { Scope } from './principal.ts'

/** Which evidences of a company match. All conditions must hold. An unknown category matches nothing. */
export interface EvidenceFilter {
  readonly categoryId?: string
  readonly subcategoryId?: string
  /** 1 to 128 characters with which the external id begins, compared exactly. */
  readonly externalIdPrefix?: string
  /** 1 to 256 characters. The whole name of the current owner; upper and lower case are the same. */
  readonly owner?: string
  readonly status?: EvidenceStatus
  /** Created at this time or later. */
  readonly createdFrom?: Date
  /** Created before this time. */
  readonly createdTo?: Date
}

/** A list is filtered or sorted if the query has `sort` or a filter other than the category or subcategory. */
export interface EvidenceQuery extends EvidenceFilter {
  /** `updated`: by the time of the last event, latest first. Default: by creation, newest first. */
  readonly sort?: 'updated'
  /** 1 to 1,000. Default 100. */
  readonly limit?: number
  /** Id of the last evidence that the caller has. Only for lists that are neither filtered nor sorted. */
  readonly after?: string
  /** `next` of the page before. The rest of the query except `limit` must be the same as for that page. */
  readonly cursor?: string
}

/** Lists as `Evidences.list` does, with texts. */
export type ListEvidenceTexts = (scope: Scope, query?: EvidenceQuery) => Promise<EvidencePage<EvidenceText>>

/** An evidence in a list of texts. */
export interface EvidenceText {
  readonly id: EvidenceId
  readonly text: string
}

export interface EvidenceTextOptions {
  /** How many characters of texts are kept at most, from 2. Default 8 Mi for lists, and 32 Mi for single evidences. */
  readonly maxKeptChars?: number
}

export interface EvidencePage<Item = EvidenceSummary> {
  /**
   * In the order of the list. A filtered list may return fewer evidences than `limit`, also none, and have more: one
   * call reads at most 10,000 entries of an index.
   */
  readonly items: readonly Item[]
  /**
   * The number of all evidences that match, on all pages. Of a filtered or sorted list: when its first page was read,
   * and only the matches that were counted if `countIsMore`.
   */
  readonly count: number
  /** Whether more than `count` may match: counting stops after 10,000 evidences. */
  readonly countIsMore: boolean
  readonly hasMore: boolean
  /** Present if a filtered or sorted list has more: where the next page begins. Opaque. */
  readonly next?: string
}
