import type { EvidenceId } from '../api/scope.ts'
import type { IdSource } from '../ids.ts'
import type { Arrivals } from '../log/arrivals.ts'
import type { LogReader } from '../log/reader.ts'
import type { Key } from '../ports/index.ts'
import type { BlobContext } from '../store/blob-lifecycle.ts'
import type { BoundedMap } from '../store/bounded-map.ts'
import type { KeyedHash } from '../store/keys.ts'
import type { Erasures } from './erasure/pending.ts'
import type { RunWrite } from './write.ts'

/** What every operation works with. What has one user is passed to that one, or closed over where it is used. */
export interface Context extends BlobContext {
  readonly ids: IdSource
  readonly log: LogReader
  /** Tells who waits for events that there are new ones. */
  readonly arrivals: Arrivals
  /** The log's name, which every event commits to. */
  readonly origin: string
  /** Of texts in keys of records, under the key of this store. */
  readonly hash: KeyedHash
  /** Runs each write: decides, commits, and decides again after a conflict. */
  readonly write: RunWrite
  /** Evidences by the key of an external id that they had: an erasure can free it, so `readEvidence` compares it. */
  readonly evidenceIds: BoundedMap<Key, EvidenceId>
  /** Removes what deleted files had in the records from the disk. */
  readonly erasures: Erasures
}
