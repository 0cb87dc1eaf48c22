import type {
  EventPage,
  EventQuery,
  EvidenceSummary,
  HistoryPage,
  HistoryQuery,
  Meta,
  EvidencePage,
  EvidenceQuery,
  RecordedEvent,
} from './evidence.ts'
import type { FileEntry, StagedFile } from './files.ts'
import type { Overview } from './overview.ts'
import type { EvidenceId, Cacheable, Scope, UpdateOptions, WriteOptions } from './scope.ts'

/** What describes an evidence, without its category. */
export interface EvidenceInput {
  /** 1 to 128 characters without control characters, but not `.` or `..`. Unique in the company; compared exactly. */
  readonly externalId: string
  /** 1 to 256 characters without control characters. */
  readonly name: string
  /** At most 256 characters without control characters. */
  readonly owner?: string
  /** At most 8,192 characters. */
  readonly description?: string
  /** At most 8,192 characters. */
  readonly summary?: string
  readonly meta?: Meta
}

/**
 * A category or subcategory by id, or by a name that is created if it does not exist. If both are given they must
 * agree.
 */
export interface CategorySelector {
  readonly id?: string
  readonly name?: string
}

export interface NewEvidence extends EvidenceInput {
  /** `{}` if the subcategory has an id: its category follows. */
  readonly category: CategorySelector
  readonly subcategory: CategorySelector
  /** Counts as a file. If its media type is that of an image, it becomes the evidence's image. */
  readonly image?: StagedFile
  readonly files?: readonly StagedFile[]
}

export interface NewEvidences {
  readonly categoryId: string
  readonly subcategoryId: string
  /** 1 to 1,000. */
  readonly evidences: readonly EvidenceInput[]
  /** Only if there is exactly one evidence. */
  readonly image?: StagedFile
  /** Only if there is exactly one evidence. */
  readonly files?: readonly StagedFile[]
}

export interface CreatedEvidence extends RecordedEvent {
  readonly id: EvidenceId
}

/** A value of an evidence that an update can remove. */
type ClearableField = 'owner' | 'description' | 'summary' | 'meta'

/**
 * At least one value must differ from the current one, or a text or file must be given. An empty text other than `name`
 * means that the value is not given. Limits are those of `EvidenceInput`.
 */
export interface EvidenceChange {
  readonly name?: string
  /** A value other than the current one records a `transfer` event. */
  readonly owner?: string
  readonly description?: string
  readonly summary?: string
  /** Replaces the previous value, also if it is `{}`. */
  readonly meta?: Meta
  /**
   * Removes these values. A value must not be both cleared and given. Removing the owner records a `transfer` event.
   */
  readonly clear?: readonly ClearableField[]
  /** At most 8,192 characters. Recorded on every event of this update, as the next two. */
  readonly eventDescription?: string
  /** At most 8,192 characters. */
  readonly updateDescription?: string
  /** At most 256 characters without control characters. */
  readonly persona?: string
  /** Attached by one `addfile` event. */
  readonly files?: readonly StagedFile[]
  /** Sets the `updateType` of the content event, and records that event even if nothing changed. */
  readonly updateType?: 'stolen' | 'repair' | 'custom' | 'change'
  /** Only with `updateType: 'stolen'`. False resets the status to `active`. Default true. */
  readonly stolen?: boolean
  /** Throws `VALIDATION_ERROR` if the update records no event of this type. */
  readonly expectedType?: 'update' | 'transfer'
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
}
