import { RegistryError } from '../../core/errors.ts'
import type { Commit, CommitResult, Entry, Key, Range, RecordStore } from '../../core/ports/index.ts'

/** `before`: the commit fails and is not applied. `after`: it is applied, and its result is lost. */
export type CommitFault = 'before' | 'after'

/** A record store whose commits can be made to fail, before or after they are applied. */
export class FaultyRecords implements RecordStore {
  readonly #records: RecordStore
  #faults = new Map<number, CommitFault>()
  #commits = 0

  constructor(records: RecordStore) {
    this.#records = records
  }

  /** The number of commits so far, including failed ones. */
  get commits(): number {
    return this.#commits
  }

  /** Makes the `nth` commit from now (1: the next) fail. */
  failCommit(nth: number, fault: CommitFault): void {
    this.#faults.set(this.#commits + nth, fault)
  }

  async commit(commit: Commit): Promise<CommitResult> {
    const fault = this.#faults.get(++this.#commits)
    if (fault === 'before') throw new RegistryError('UNAVAILABLE', 'Injected: nothing was applied')
    const result = await this.#records.commit(commit)
    if (fault === 'after') throw new RegistryError('UNKNOWN_OUTCOME', 'Injected: the result was lost')
    return result
  }

  get(keys: readonly Key[]): Promise<readonly (Entry | undefined)[]> {
    return this.#records.get(keys)
  }

  list(range: Range): AsyncIterable<Entry> {
    return this.#records.list(range)
  }

  readLog(from: number, count: number): Promise<Uint8Array> {
    return this.#records.readLog(from, count)
  }

  readPayloads(from: number, count: number): Promise<readonly Uint8Array[]> {
    return this.#records.readPayloads(from, count)
  }

  logSize(): Promise<number> {
    return this.#records.logSize()
  }

  positionsOf(entries: readonly Uint8Array[]): Promise<readonly (number | undefined)[]> {
    return this.#records.positionsOf(entries)
  }

  close(): Promise<void> {
    return this.#records.close()
  }
}
