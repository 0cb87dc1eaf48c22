import type { Disclosure } from '../commitment/event-format.ts'
import type { ErasedValue } from './erasures.ts'
import type { Meta } from '../schemas/fields.ts'
import type { BatchId, CategoryId, EvidenceId, FileId, TxId } from './scope.ts'

type EvidenceStatus = 'active' | 'stolen'

/** What every view of an evidence has. */
interface EvidenceCore {
  readonly id: EvidenceId
  /** Chosen by the caller, unique in its company. */
  readonly externalId: string
  readonly categoryId: CategoryId
  readonly subcategoryId: CategoryId
  readonly name: string
  readonly status: EvidenceStatus
  readonly owner?: string
  readonly summary?: string
  readonly image?: { readonly id: FileId; readonly mimeType: string; readonly size: number }
  readonly createdAt: Date
  /** Of the `create` event. */
  readonly txId: TxId
}

/** An evidence as a list shows it. */
export interface EvidenceSummary extends EvidenceCore {
  /** How many events of each type the history has. */
  readonly eventCounts: { readonly create: number; readonly update: number; readonly transfer: number }
  /** Block of the anchor that covers the creation; absent until it is confirmed. */
  readonly blockNumber?: number
  readonly lastEvent: { readonly recordedAt: Date; readonly txId: TxId; readonly blockNumber?: number }
}

/** An evidence in its current state. */
export interface Evidence extends EvidenceCore {
  readonly description?: string
  readonly meta?: Meta
  /** Version of the newest event. */
  readonly version: number
  /** Of the newest event. It commits to the whole history. */
  readonly lastTxId: TxId
  /** Present if current values were erased. */
  readonly erased?: readonly ErasedValue[]
}

type EventType = 'create' | 'update' | 'transfer'
type UpdateType = 'stolen' | 'repair' | 'custom' | 'change' | 'addfile' | 'deletefile'

/** What an event did. */
interface EventAction {
  readonly type: EventType
  /** Present if `type` is `update`. */
  readonly updateType?: UpdateType
}

/** One event of a history. */
export interface HistoryEvent extends EventAction {
  /** 1, 2, … without a gap. */
  readonly version: number
  /** The registry's clock when the event was recorded. Part of what the event commits to. */
  readonly recordedAt: Date
  /** Owner at that time; the empty text if there was none. */
  readonly owner: string
  readonly persona?: string
  readonly eventDescription?: string
  readonly updateDescription?: string
  /** The meta that the request sent. */
  readonly meta?: Meta
  readonly txId: TxId
  /** Present if values or files of the event were erased. `owner` is also erased where an earlier event set it. */
  readonly erased?: readonly ErasedValue[]
  /**
   * The batch that holds the event, `null` until it is sealed. `P`: sealed, `S`: its anchor was sent, `C`: confirmed.
   */
  readonly batch: { readonly id: BatchId; readonly sendStatus: 'P' | 'S' | 'C' } | null
  /** Everything it takes to recompute `txId`. Present if the caller asked for it. */
  readonly disclosure?: Disclosure
}

export interface HistoryPage {
  readonly evidence: Evidence
  /** In ascending version. */
  readonly events: readonly HistoryEvent[]
  /**
   * Version of the last event of this page. For a page without events: the smaller of `after` and the newest version.
   */
  readonly lastVersion: number
  readonly hasMore: boolean
}

/** One event of a company. */
export interface CompanyEvent extends EventAction, Pick<HistoryEvent, 'version' | 'recordedAt' | 'txId' | 'batch'> {
  /** The position behind the event: `after` of a query that goes on with the next one. */
  readonly cursor: string
  readonly evidenceId: EvidenceId
  /** Absent if the evidence cannot be read any more. */
  readonly externalId?: string
}

export interface EventPage {
  /** In the order of the log, also fewer than `limit` if there are more, because a page reads a part of the log. */
  readonly events: readonly CompanyEvent[]
  /** Where the next page begins. It advances also without events. Opaque. */
  readonly cursor: string
  readonly hasMore: boolean
}

export interface EvidencePage {
  /**
   * In the order of the list. A filtered list may return fewer evidences than `limit`, also none, and have more: one
   * call reads at most 10,000 entries of an index.
   */
  readonly items: readonly EvidenceSummary[]
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

/** An event that a write recorded. Keep the txId: a registry cannot take it back. */
export type RecordedEvent = {
  readonly type: EventType
  /** Of an event of type `update`. */
  readonly updateType?: UpdateType
  readonly txId: TxId
  readonly version: number
  /** The files that it attaches or deletes, if there are any. */
  readonly files?: readonly string[]
}
