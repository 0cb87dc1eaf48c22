import type { RecordStore } from '../../core/ports/index.ts'

/** Counts the commits of a store from now on. */
export function countCommits(records: RecordStore): { readonly count: number } {
  const counter = { count: 0 }
  const commit = records.commit.bind(records)
  records.commit = (...args) => {
    counter.count += 1
    return commit(...args)
  }
  return counter
}
