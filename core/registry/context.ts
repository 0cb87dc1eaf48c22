import type { EvidenceId } from '../api/scope.ts'
import type { IdSource } from '../ids.ts'
import type { LogReader } from '../log/reader.ts'
import type { Commit, Key } from '../ports/index.ts'
import type { CategoryRecord } from '../store/records.ts'
import type { BlobContext } from '../store/blob-lifecycle.ts'
import type { BoundedMap } from '../store/cache.ts'
import type { Erasures } from './cleanup.ts'
import type { AuditLog } from './company/audit.ts'
import type { LastUses } from './company/last-uses.ts'
import type { BulkCreates } from './evidence/bulk-creates.ts'
import type { BatchAttestations } from './proof/batch-attestations.ts'
import type { WriteGate } from './write-gate.ts'

/** A part of a commit. */
export type CommitPart = Required<Pick<Commit, 'checks' | 'writes' | 'adds'>>

/** The category and subcategory of a new evidence, and what the commit must check and write for them. */
export interface CategoryRef extends CommitPart {
  readonly category: CategoryRecord
  readonly subcategory: CategoryRecord
}

/** What every operation works with. */
export interface Context extends BlobContext {
  readonly ids: IdSource
  readonly log: LogReader
  readonly gate: WriteGate
  readonly attestations: BatchAttestations
  /** See `KeyedLock`. */
  readonly lock: { acquire(key: Key): Promise<() => void> }
  /** Categories of recent evidences, by how requests name them. */
  readonly categoryRefs: BoundedMap<string, CategoryRef>
  /** Evidences by the key of their external id. It belongs to one evidence for ever, so this stays correct. */
  readonly evidenceIds: BoundedMap<Key, EvidenceId>
  readonly lastUses: LastUses
  readonly auditLog: AuditLog
  readonly bulkCreates: BulkCreates
  /** The log's name, which every event commits to. */
  readonly origin: string
  /** Removes what deleted files had in the records from the disk. */
  readonly erasures: Erasures
  /** Keys the HMAC of request fingerprints: a request can contain a secret that is easy to guess. */
  readonly fingerprintKey: Uint8Array
  /** The largest file whose bytes are stored in its record. */
  readonly smallFileBytes: number
  /** Counts reads of files whose stored bytes were missing or damaged. */
  readonly damage: { reads: number }
  /** Tells the sealer that the log has new entries. */
  notify(): void
}
