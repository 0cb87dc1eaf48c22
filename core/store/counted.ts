import { corrupt } from '../errors.ts'
import type { Count } from './counter.ts'

/** A list that is counted. Every commit that changes the list also changes its counters. */
export interface CountedSource<T> {
  /** For the error. */
  readonly name: string
  readonly count: () => Promise<Count>
  readonly read: () => Promise<readonly T[]>
  /** How many entries are read at most. Default: all. */
  readonly limit?: number
}

/** A list that changes while it is read each time is returned as it was read last. */
export const MAX_READS = 4

/**
 * Reads a list, and compares it with its counters. Entries without a value have no checksum, so a flipped bit in the
 * key of one hides it. A list that was changed meanwhile is read again.
 *
 * @returns the entries, and the count that was read before them
 * @throws RegistryError `CORRUPT` if the counters stay the same and the list has another length
 * @example
 * const { entries } = await listCounted({
 *   name: 'The list of files',
 *   count: () => readCount(records, [keys.fileCount(company, owner)]),
 *   read: () => listEntries(records, keys.filesOf(company, owner)),
 * })
 */
export async function listCounted<T>({ name, count, read, limit = Infinity }: CountedSource<T>) {
  let before = await count()
  for (let reads = 1; ; reads += 1) {
    const entries = await read()
    const counted = { entries, count: before.count }
    if (entries.length === Math.min(before.count, limit)) return counted
    const after = await count()
    if (after.version === before.version)
      throw corrupt(`${name} has ${entries.length} entries, but its counter says ${before.count}`)
    if (reads === MAX_READS) return counted
    before = after
  }
}
