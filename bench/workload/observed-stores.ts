import { decorateRecords } from '../../adapters/kit/index.ts'
import type { Commit, Key, RecordStore, TreeEngine } from '../../core/ports/index.ts'

/** Reads and commits of a store, in their order. */
export interface Recording {
  readonly gets: (readonly Key[])[]
  readonly commits: Commit[]
}

/** Records reads and commits while `recording` is set. */
export class Recorder {
  recording: Recording | undefined

  /** A store that does the same as this one, and is recorded. */
  readonly record = (records: RecordStore): RecordStore =>
    decorateRecords(records, {
      get: (keys) => {
        this.recording?.gets.push(keys)
        return records.get(keys)
      },
      commit: (commit) => {
        this.recording?.commits.push(commit)
        return records.commit(commit)
      },
    })
}

/** Adds up how long promises of one kind take. */
export class Stopwatch {
  ms = 0

  async time<T>(work: Promise<T>): Promise<T> {
    const begin = performance.now()
    try {
      return await work
    } finally {
      this.ms += performance.now() - begin
    }
  }
}

/** A store, and the time of its commits and log reads. */
export function timeRecords(records: RecordStore) {
  const [reads, commits] = [new Stopwatch(), new Stopwatch()]
  const timed = decorateRecords(records, {
    commit: (commit) => commits.time(records.commit(commit)),
    readLog: (from, count) => reads.time(records.readLog(from, count)),
  })
  return { reads, commits, timed }
}

/** Measures the time of an engine. */
export const timeEngine = (engine: TreeEngine, stopwatch: Stopwatch): TreeEngine => ({
  tiles: (...args) => stopwatch.time(engine.tiles(...args)),
  close: () => engine.close(),
})
