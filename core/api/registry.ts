import type { SealerStatus } from '../ports/index.ts'
import type { Categories } from './categories.ts'
import type { Companies } from './companies.ts'
import type { Evidences } from './evidences.ts'
import type { CheckpointKeys, PublishedLog } from './log.ts'
import type { Files } from './files.ts'
import type { Proofs } from './proofs.ts'
import type { Shares } from './shares.ts'
import type { SourceSystems } from './source-systems.ts'

/**
 * Why writes are refused. `CLOCK`: the clock is behind the last batch. `READ_ONLY`: the registry was opened with
 * `readOnly`. `LOG_BEHIND_SIGNED`: the store was set back while it was open, and what is written to it would be lost.
 */
export type WritesRefused = 'CLOCK' | 'READ_ONLY' | 'LOG_BEHIND_SIGNED'

interface RegistryStatus extends SealerStatus {
  /** `null`: the registry accepts writes. With `CLOCK` only writes of events are refused. */
  readonly writesRefused: WritesRefused | null
  /** Reads of files since the start whose stored bytes were missing or are not the recorded ones. */
  readonly damagedReads: number
}

/**
 * An open registry: what `openRegistry` returns.
 *
 * Every operation validates its input, and checks that the principal of its scope may do it. It throws a
 * `RegistryError` with a stable `code`; an operation that throws has changed nothing, except `UNKNOWN_OUTCOME`, which
 * says that the outcome could not be determined. A write is durable when its promise resolves. Besides the codes that
 * each operation names, all of them can throw `FORBIDDEN`, `COMPANY_NOT_FOUND` (operator only), `UNAVAILABLE`,
 * `STORE_POISONED`, `CORRUPT` and `CLOSED`.
 */
export interface Registry {
  readonly companies: Companies
  readonly sourceSystems: SourceSystems
  readonly categories: Categories
  readonly evidences: Evidences
  readonly files: Files
  readonly proofs: Proofs
  readonly shares: Shares
  readonly log: PublishedLog
  /** The keys that sign checkpoints. For the operator of this process: it is not checked who calls. */
  readonly checkpointKeys: CheckpointKeys
  /** What is sealed, stamped and anchored, and what failed since the start, and whether it accepts writes. */
  status(): RegistryStatus
  /**
   * Seals everything written so far without waiting for the sealer's schedule. Resolves when the checkpoint is signed.
   */
  sealNow(signal?: AbortSignal): Promise<void>
  /**
   * Stops the sealer, waits for running writes, then closes the stores. The stores are closed even if the sealer fails
   * to stop.
   */
  close(): Promise<void>
}
