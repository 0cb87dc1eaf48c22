import type {
  EvidenceChange,
  NewEvidence,
  NewEvidences,
  EventQuery,
  HistoryQuery,
  EvidenceQuery,
} from '../schemas/evidence-inputs.ts'
import type { EventPage, EvidenceSummary, HistoryPage, EvidencePage, RecordedEvent } from './evidence.ts'
import type { AuditQuery } from '../schemas/company-inputs.ts'
import type { ErasureInput, SubjectErasureInput } from '../schemas/erasure-inputs.ts'
import type { ErasureOutcome, EvidenceErasure, SubjectErasure, SubjectErasureResult } from './erasures.ts'
import type { FileEntry } from './files.ts'
import type { Overview } from './overview.ts'
import type { ErasureId, EvidenceId, Cacheable, Scope, UpdateOptions, WriteCondition, WriteOptions } from './scope.ts'

export interface CreatedEvidence extends RecordedEvent {
  readonly id: EvidenceId
}

export interface EvidenceFileList {
  readonly evidence: readonly FileEntry[]
  readonly category: readonly FileEntry[]
  readonly subcategory: readonly FileEntry[]
}

export interface Evidences {
  /**
   * Creates an evidence with its `create` event. Requires level `I`.
   *
   * @returns its id, and the txId and version of the event
   * @throws `EXTERNAL_ID_EXISTS`, `CATEGORY_NOT_FOUND`, `SUBCATEGORY_NOT_FOUND`, `CATEGORY_INACTIVE`,
   * `CATEGORY_MISMATCH`, `VALIDATION_ERROR`, `FILE_NOT_FOUND` if a staged file was used or discarded before
   * @example
   * const { txId } = await registry.evidences.create(scope, {
   *   externalId: 'VIN-1',
   *   name: 'Golf',
   *   category: { name: 'Vehicles' },
   *   subcategory: { name: 'Cars' },
   * })
   */
  create(scope: Scope, input: NewEvidence, options?: WriteOptions): Promise<CreatedEvidence>
  /**
   * Creates 1 to 1,000 evidences in one step: all of them or none. Requires level `I`.
   *
   * @throws as `create`
   */
  createMany(scope: Scope, input: NewEvidences, options?: WriteOptions): Promise<readonly CreatedEvidence[]>
  /**
   * A page of evidences, newest first or as `sort` says. An unknown category matches nothing. Requires level `R`.
   *
   * One condition is looked up in an index: the one with the fewest entries. The other conditions are applied to the
   * evidences that it finds. Sorted by `updated`, the index is always that of the update times, because it has the
   * right order. One call reads at most 10,000 entries of the index, and as many to find the best one.
   *
   * @throws `VALIDATION_ERROR` if `after` is not an evidence of this company, or if `cursor` belongs to another query
   * @example
   * const { items, next } = await registry.evidences.list(scope, { owner: 'Ada', status: 'stolen' })
   */
  list(scope: Scope, query?: EvidenceQuery): Promise<EvidencePage>
  /**
   * As `list`, but returns `cached` itself while no evidence and no anchor of the log has changed, which costs less.
   *
   * @param cached - an earlier result for the same query, or an object with its `state`
   */
  listIfChanged<K extends Cacheable>(
    scope: Scope,
    query: EvidenceQuery,
    cached: K | undefined,
  ): Promise<(EvidencePage & Cacheable) | K>
  /**
   * All evidences that match, in the order of `list`. Reads page by page, and holds nothing of the store between two
   * pages, so the caller may take its time. Evidences that are created meanwhile are not included. An evidence that
   * changes meanwhile is missing if the change moves it to the front or it no longer matches. Requires level `R`.
   *
   * @param query - as of `list`; `limit`: how many are read at once
   * @throws as `list`, while it is iterated
   * @example
   * for await (const { externalId } of registry.evidences.all(scope)) console.log(externalId)
   */
  all(scope: Scope, query?: EvidenceQuery): AsyncIterable<EvidenceSummary>
  /**
   * An evidence and a page of its history. Requires level `R`.
   *
   * @throws `EVIDENCE_NOT_FOUND`, `VALIDATION_ERROR`
   */
  get(scope: Scope, externalId: string, query?: HistoryQuery): Promise<HistoryPage>
  /**
   * As `get`, but returns `cached` itself while neither the evidence nor the state of a batch has changed, which costs
   * less.
   *
   * @param cached - an earlier result for the same evidence and query, or an object with its `state`
   * @example
   * const { getIfChanged } = registry.evidences
   * const page = await getIfChanged(scope, 'VIN-1', {}, undefined)
   * const later = await getIfChanged(scope, 'VIN-1', {}, page)
   * if (later === page) console.log('Nothing has changed')
   */
  getIfChanged<K extends Cacheable>(
    scope: Scope,
    externalId: string,
    query: HistoryQuery,
    cached: K | undefined,
  ): Promise<(HistoryPage & Cacheable) | K>
  /**
   * Records up to three events in one step and in this order: the changed content, the transfer to another owner, the
   * attached files. Requires level `U`.
   *
   * @returns the recorded events
   * @throws `EVIDENCE_NOT_FOUND`, `VERSION_CONFLICT`, `VALIDATION_ERROR` if nothing would be recorded, `FILE_NOT_FOUND`
   */
  update(
    scope: Scope,
    externalId: string,
    change: EvidenceChange,
    options?: UpdateOptions,
  ): Promise<readonly RecordedEvent[]>
  /**
   * Erases fields, files or the whole content of an evidence: the values, their salts and the bytes. Its events, their
   * versions and their txIds stay, and so do all proofs. No event is added, but the log gets an entry that commits to a
   * receipt. Erasing again what is erased changes nothing, nor does a dry run, which returns what it would erase.
   * Requires level `A`.
   *
   * Erasing the content also frees the external id: the evidence has its internal id as external id then. The
   * idempotency keys of its calls are forgotten, so a repeated creation makes another evidence.
   *
   * @returns what was erased, and the log entry of the receipt
   * @throws `EVIDENCE_NOT_FOUND`, `VERSION_CONFLICT`, `VALIDATION_ERROR` also for a field or file that no event has,
   * `EXTERNAL_ID_EXISTS` if the internal id is the external id of another evidence
   * @example
   * await registry.evidences.erase(scope, 'VIN-1', { fields: ['owner'], reason: 'request' })
   */
  erase(scope: Scope, externalId: string, input: ErasureInput, options?: WriteCondition): Promise<ErasureOutcome>
  /**
   * Erases a subject in the background: every owner and persona of the company's events that equals a text, compared as
   * `owner` of `list` does. Each evidence is erased in one step, with a receipt of its own. It goes on after a restart.
   * Mentions in other texts are not found. Nor is an event that is recorded meanwhile for an evidence that was looked
   * at before: erase the subject again. Requires level `A`.
   *
   * @returns the id with which `erasure` shows how far it is
   * @throws `VALIDATION_ERROR`, `UNAVAILABLE` while 16 others of the company are not done
   * @example
   * const { id } = await registry.evidences.eraseSubject(scope, { subject: 'Ada', reason: 'request', dryRun: true })
   * const { state, found } = await registry.evidences.erasure(scope, id)
   */
  eraseSubject(scope: Scope, input: SubjectErasureInput): Promise<{ readonly id: ErasureId }>
  /** An erasure of the company. Requires level `A`. @throws `ERASURE_NOT_FOUND` */
  erasure(scope: Scope, id: string): Promise<EvidenceErasure | SubjectErasureResult>
  /** The erasures of the company, newest first. Requires level `A`. @throws `VALIDATION_ERROR` */
  erasures(
    scope: Scope,
    query?: AuditQuery,
  ): Promise<{ readonly items: readonly (EvidenceErasure | SubjectErasure)[]; readonly hasMore: boolean }>
  /**
   * The files of an evidence, of its category and of its subcategory. Requires level `R`. @throws `EVIDENCE_NOT_FOUND`
   */
  files(scope: Scope, externalId: string): Promise<EvidenceFileList>
  /**
   * The events of all evidences of the company, in the order of the log. Pages that begin at the cursor of the page
   * before have every event once, also with several servers. A page goes on until it has an event or 200 ms have
   * passed. Requires level `R`.
   *
   * @throws `VALIDATION_ERROR` if `after` is not a cursor of this log
   */
  events(scope: Scope, query?: EventQuery): Promise<EventPage>
  /**
   * Waits for the next event of the company. Requires level `R`.
   *
   * @param after - `cursor` of a page of `events` that had no more
   * @param signal - ends the wait without an error
   * @returns a cursor before the event, or behind everything that was looked at
   * @throws as `events`
   */
  nextEvent(scope: Scope, after: string, signal: AbortSignal): Promise<string>
  /**
   * How many entries the log has behind a cursor, from the first event of the company on: what `events` may have to
   * read. Requires level `R`.
   *
   * @throws as `events`
   */
  entriesAfter(scope: Scope, after?: string): Promise<number>
  /** What the company has at a glance, and how far the whole log is. Never scans a list. Requires level `R`. */
  overview(scope: Scope): Promise<Overview>
  /**
   * Whether an evidence is reported stolen, for anyone, without a scope. Only a category with `publicStatus` says it.
   * Ids can be guessed: limit how often someone may ask, as the server does.
   *
   * @throws `VALIDATION_ERROR`
   * @example
   * const status = await registry.evidences.publicStatus({ companyId: 'acme', externalId: 'VIN-1' })
   * if (status.state === 'stolen') console.log(`Reported stolen since ${status.since.toISOString()}`)
   */
  publicStatus(evidence: { readonly companyId: string; readonly externalId: string }): Promise<PublicStatus>
}

/** `unknown`: there is no such evidence, or its category does not say. It does not mean that it is not stolen. */
export type PublicStatus =
  | { readonly state: 'active' | 'unknown' }
  /** `since`: when it was first reported, unless it was found in between. */
  | { readonly state: 'stolen'; readonly since: Date }
