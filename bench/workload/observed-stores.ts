import type { Commit, Key, RecordStore, TreeEngine } from '../../core/ports/index.ts'

/** Passes every call to another store. */
export class ForwardingStore implements RecordStore {
  readonly #records: RecordStore

  constructor(records: RecordStore) {
    this.#records = records
  }

  get(keys: readonly Key[]) {
    return this.#records.get(keys)
  }

  commit(commit: Commit) {
    return this.#records.commit(commit)
  }

  list(...args: Parameters<RecordStore['list']>) {
    return this.#records.list(...args)
  }

  readLog(from: number, count: number) {
    return this.#records.readLog(from, count)
  }

  readPayloads(from: number, count: number) {
    return this.#records.readPayloads(from, count)
  }

  logSize() {
    return this.#records.logSize()
  }

  positionsOf(entries: readonly Uint8Array[]) {
    return this.#records.positionsOf(entries)
  }

  close() {
    return this.#records.close()
  }
}

/** Reads and commits of a store, in their order. */
export interface Recording {
  readonly gets: (readonly Key[])[]
  readonly commits: Commit[]
}

/** Records its reads and commits while `recording` is set. */
export class RecordingStore extends ForwardingStore {
  recording: Recording | undefined

  override get(keys: readonly Key[]) {
    this.recording?.gets.push(keys)
    return super.get(keys)
  }

  override commit(commit: Commit) {
    this.recording?.commits.push(commit)
    return super.commit(commit)
  }
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

/** Measures the time of its commits and log reads. */
export class TimedStore extends ForwardingStore {
  readonly reads = new Stopwatch()
  readonly commits = new Stopwatch()

  override commit(commit: Commit) {
    return this.commits.time(super.commit(commit))
  }

  override readLog(from: number, count: number) {
    return this.reads.time(super.readLog(from, count))
  }
}

/** Measures the time of an engine. */
export const timeEngine = (engine: TreeEngine, stopwatch: Stopwatch): TreeEngine => ({
  tiles: (...args) => stopwatch.time(engine.tiles(...args)),
  close: () => engine.close(),
})
