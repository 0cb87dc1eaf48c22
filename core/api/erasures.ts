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
   * `done`: nothing of it is left. `pending`: the files of the record store may still hold it. The registry removes old
   * values within minutes; LevelDB keeps keys of indexes that contain the text until its next start.
   */
  readonly disk: 'done' | 'pending'
}

/** An erasure in the list of its company. */
export interface EvidenceErasure extends Required<ErasureOutcome> {
  readonly id: ErasureId
  readonly at: Date
  readonly evidenceId: EvidenceId
  readonly reason: ErasureReason
  readonly note?: string
  /** Who erased: the id of a source system, or `operator`. */
  readonly by: string
}
