import { RegistryError } from '../../core/errors.ts'
import type { RecordStore } from '../../core/ports/index.ts'
import { decorateRecords } from '../../core/store/decorate.ts'

/** `before`: the commit fails and is not applied. `after`: it is applied, and its result is lost. */
export type CommitFault = 'before' | 'after'

/** A record store whose commits can be made to fail, before or after they are applied. */
export interface FaultyRecords extends RecordStore {
  /** The number of commits so far, including failed ones. */
  readonly commits: number
  /** Makes the `nth` commit from now (1: the next) fail. */
  failCommit(nth: number, fault: CommitFault): void
}

export function faultyRecords(records: RecordStore): FaultyRecords {
  const faults = new Map<number, CommitFault>()
  let commits = 0
  const store = decorateRecords(records, {
    async commit(commit) {
      const fault = faults.get(++commits)
      if (fault === 'before') throw new RegistryError('UNAVAILABLE', 'Injected: nothing was applied')
      const result = await records.commit(commit)
      if (fault === 'after') throw new RegistryError('UNKNOWN_OUTCOME', 'Injected: the result was lost')
      return result
    },
  })
  return {
    ...store,
    get commits() {
      return commits
    },
    failCommit: (nth, fault) => void faults.set(commits + nth, fault),
  }
}
