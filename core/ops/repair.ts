import type { Key, RecordStore, Write } from '../ports/index.ts'
import type { Difference, DifferenceKind } from './check.ts'

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
  'other',
  'unknown',
])

/** What a repair would do. */
export interface RepairPlan {
  /** In the order of the keys. */
  readonly writes: readonly Write[]
  /** Differences that cannot be repaired and that keep everything else from being repaired. */
  readonly blocking: readonly Difference[]
}

/**
 * Plans the repair of everything that `fsck` has reported: tiles, indexes, listings and counters get the values that
 * follow from the log and the records. Nothing is repaired if one of those records differs itself: restore a backup
 * then. Stamps, anchors and the bytes of files are not repaired, and do not keep the rest from being repaired.
 *
 * Counters count indexes, so they are only repaired when the indexes are right: check and plan again after a repair.
 */
export function planRepair(differences: readonly Difference[]): RepairPlan {
  const derived = differences.filter(({ repair }) => repair !== undefined)
  const indexes = derived.filter(({ kind }) => kind !== 'counter')
  const values = new Map<Key, Uint8Array | null>()
  for (const { key, repair } of indexes.length > 0 ? indexes : derived)
    // A stale entry is deleted, unless another check has found what belongs there.
    if (repair !== undefined && (repair !== null || !values.has(key))) values.set(key, repair)
  const writes = Array.from(values, ([key, value]) => ({ key, value })).toSorted((a, b) => (a.key < b.key ? -1 : 1))
  const blocking = differences.filter(({ kind, repair }) => repair === undefined && PRIMARY.has(kind))
  return { writes, blocking }
}

const WRITES_PER_COMMIT = 256

/**
 * Applies the writes of a plan, whose `blocking` must be empty. The store must not be in use. A repair that is
 * interrupted can be run again.
 */
export async function repairRecords(records: RecordStore, { writes }: RepairPlan): Promise<void> {
  for (let at = 0; at < writes.length; at += WRITES_PER_COMMIT)
    await records.commit({ writes: writes.slice(at, at + WRITES_PER_COMMIT) })
}
