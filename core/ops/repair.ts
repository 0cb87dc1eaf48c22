import type { Key, RecordStore, Write } from '../ports/index.ts'
import type { Difference } from './check/check.ts'
import type { DifferenceKind } from './check/families.ts'

/** Records from which others follow. While one of them differs, nothing can be said about those that follow. */
const PRIMARY: ReadonlySet<DifferenceKind> = new Set([
  'identity',
  'entry',
  'batch',
  'head',
  'checkpoint',
  'event',
  'evidence',
  'file',
  'category',
  'source system',
  'erasure',
  'other',
  'unknown',
])

/** What a repair would do. */
export interface RepairPlan {
  /** In the order of the keys. */
  readonly writes: readonly Write[]
  /** How many differences cannot be repaired and keep everything else from being repaired. */
  readonly blocking: number
}

/** Writes that are planned at once: about 100 MB. Check and plan again for the rest. */
const MAX_WRITES = 200_000

/**
 * Plans the repair of what `fsck` reports, in bounded memory: tiles, indexes, listings and counters get the values that
 * follow from the log and the records. Nothing is repaired if one of those records differs itself: restore a backup
 * then. Stamps, anchors and the bytes of files are not repaired, and do not keep the rest from being repaired.
 *
 * Counters count indexes, so they are only repaired when the indexes are right: check and plan again after a repair.
 */
export class RepairPlanner {
  readonly #indexes = new Map<Key, Uint8Array | null>()
  readonly #counters = new Map<Key, Uint8Array | null>()
  readonly #maxWrites: number
  #blocking = 0

  constructor(maxWrites = MAX_WRITES) {
    this.#maxWrites = maxWrites
  }

  add({ kind, key, repair }: Difference): void {
    if (repair === undefined) {
      if (PRIMARY.has(kind)) this.#blocking += 1
      return
    }
    const values = kind === 'counter' ? this.#counters : this.#indexes
    if (values.size === this.#maxWrites && !values.has(key)) return
    // A stale entry is deleted, unless another check has found what belongs there.
    if (repair !== null || !values.has(key)) values.set(key, repair)
  }

  get plan(): RepairPlan {
    const values = this.#indexes.size > 0 ? this.#indexes : this.#counters
    const writes = Array.from(values, ([key, value]) => ({ key, value })).toSorted((a, b) => (a.key < b.key ? -1 : 1))
    return { writes, blocking: this.#blocking }
  }
}

const WRITES_PER_COMMIT = 256

/**
 * Applies the writes of a plan, whose `blocking` must be 0. The store must not be in use. A repair that is
 * interrupted can be run again.
 */
export async function repairRecords(records: RecordStore, { writes }: RepairPlan): Promise<void> {
  for (let at = 0; at < writes.length; at += WRITES_PER_COMMIT)
    await records.commit({ writes: writes.slice(at, at + WRITES_PER_COMMIT) })
}
