import type { EvidenceId } from '../api/ids.ts'
import type { IdSource } from '../ids.ts'
import type { LogReader } from '../log/reader.ts'
import type { Key } from '../ports/index.ts'
import type { BlobContext } from '../store/blob-lifecycle.ts'
import type { BoundedMap } from '../store/bounded-map.ts'
import type { KeyedLock } from '../store/keyed-lock.ts'
import type { Erasures } from './erasures.ts'
import type { CategoryCache } from './category/cache.ts'
import type { AuditLog } from './company/audit-log.ts'
import type { LastUses } from './company/last-uses.ts'
import type { BulkCreates } from './evidence/bulk-creates.ts'
import type { BatchAttestations } from './proof/batch-attestations.ts'
import type { WriteGate } from './write-gate.ts'

/** What every operation works with. */
export interface Context extends BlobContext {
  readonly ids: IdSource
  readonly log: LogReader
  readonly gate: WriteGate
  readonly attestations: BatchAttestations
  readonly lock: KeyedLock
  readonly categoryCache: CategoryCache
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
