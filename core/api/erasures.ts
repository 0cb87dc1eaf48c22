import type { ErasureReason } from '../commitment/receipt.ts'
import type { ErasureId, EvidenceId, TxId } from './scope.ts'

/** A value of an event. `field` is `files` for a file, whose id is in `file`. */
export type EventPart = { readonly field: string; readonly file?: string }

/** A value that was erased, shown beside what is left. */
export type ErasedValue = EventPart & { readonly at: Date }

/** What the erasure of a part of an evidence did. */
export type ErasureOutcome = {
  /** By ascending version. Empty if everything was erased before: then there is no receipt either. */
  readonly erased: readonly (EventPart & { readonly version: number })[]
  /** `txId`: the log entry of the receipt. It is sealed soon, and stamped and anchored with the next event. */
  readonly receipt?: { readonly txId: TxId }
  /**
   * `done`: the registry has removed it. PostgreSQL keeps its bytes in the free space of pages until it uses it again.
   * `pending`: the files of the record store may still hold it. The registry removes old values within minutes; LevelDB
   * keeps keys of indexes that contain the text until its next start.
   */
  readonly disk: 'done' | 'pending'
}

/** An erasure in the list of its company. */
export interface EvidenceErasure extends Required<ErasureOutcome> {
  readonly kind: 'evidence'
  readonly id: ErasureId
  readonly at: Date
  readonly evidenceId: EvidenceId
  readonly reason: ErasureReason
  readonly note?: string
  /** Who erased: the id of a source system, or `operator`. */
  readonly by: string
}

/** The erasure of a subject in the list of its company. The subject is not shown. */
export interface SubjectErasure extends Pick<EvidenceErasure, 'id' | 'reason' | 'note' | 'by'> {
  readonly kind: 'subject'
  /**
   * `failed`: an evidence is damaged. What was erased before it stays erased. Repair the store, and erase the subject
   * again.
   */
  readonly state: 'asked' | 'running' | 'done' | 'failed'
  /** It only looks for what would be erased. */
  readonly dryRun: boolean
  readonly createdAt: Date
  readonly doneAt?: Date
  /** Evidences that it has looked at, and how many there are. */
  readonly progress: { readonly done: number; readonly total: number }
  /** How many values it has erased: none in a dry run. Each evidence has an erasure of its own for them. */
  readonly erased: number
}

/** The erasure of a subject with what it has found, which it also erases unless it is a dry run. */
export interface SubjectErasureResult extends SubjectErasure {
  /** The first 1,000, oldest evidences first. */
  readonly found: readonly FoundValue[]
  readonly isMore: boolean
}

/** A value that is the subject. `externalId`: the present one of the evidence. */
export interface FoundValue extends Pick<EvidenceErasure, 'evidenceId'> {
  readonly externalId: string
  readonly version: number
  readonly field: string
}
