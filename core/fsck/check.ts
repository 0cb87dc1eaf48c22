import { decodeUtf8 } from '../bytes.ts'
import type { Entry, Key, Range, RecordStore } from '../ports.ts'

/** What a difference is about. */
export type DifferenceKind =
  /** The log's identity or keys. */
  | 'identity'
  /** A log entry: its opening or its index. */
  | 'entry'
  | 'tile'
  | 'batch'
  /** The tree's head, or what was signed last. */
  | 'head'
  | 'checkpoint'
  | 'stamp'
  | 'anchor'
  /** An event: its opening, txId or place in its history. */
  | 'event'
  /** An evidence's record against its history. */
  | 'evidence'
  | 'file'
  | 'category'
  | 'source system'
  /** A record that must lead to another one. */
  | 'index'
  | 'counter'
  /** A stored file's bytes. */
  | 'blob'
  /** A key of no known family. */
  | 'unknown'

export interface Difference {
  readonly kind: DifferenceKind
  /** The record, or `log/POSITION`, or `blob/ID`. */
  readonly key: string
  readonly message: string
}

export type FsckStage = 'log' | 'evidences' | 'indexes' | 'blobs'

export interface FsckProgress {
  readonly stage: FsckStage
  /** Entries, events, records or files looked at in this stage. */
  readonly done: number
}

export interface FsckHandlers {
  readonly onDifference?: (difference: Difference) => void
  readonly onProgress?: (progress: FsckProgress) => void
  readonly signal?: AbortSignal
}

/** Records read together. */
const PAGE = 128

/** Where the checks of one run write what they find. */
export class Check {
  readonly records: RecordStore
  readonly #handlers: FsckHandlers
  readonly #done = new Map<FsckStage, number>()
  #differences = 0

  constructor(records: RecordStore, handlers: FsckHandlers) {
    this.records = records
    this.#handlers = handlers
  }

  get differences(): number {
    return this.#differences
  }

  doneIn(stage: FsckStage): number {
    return this.#done.get(stage) ?? 0
  }

  differ(kind: DifferenceKind, key: string, message: string): void {
    this.#differences += 1
    this.#handlers.onDifference?.({ kind, key, message })
  }

  /** A difference unless it holds. */
  expect(holds: boolean, kind: DifferenceKind, key: string, message: string): void {
    if (!holds) this.differ(kind, key, message)
  }

  /** Whatever a damaged record makes its check throw is a difference of that record; `undefined` then. */
  guard<T>(kind: DifferenceKind, key: string, read: () => T): T | undefined {
    try {
      return read()
    } catch (error) {
      this.differ(kind, key, `It cannot be read: ${error instanceof Error ? error.message : String(error)}`)
      return undefined
    }
  }

  /** So much more was done in a stage. Throws the signal's reason when aborted. */
  progress(stage: FsckStage, count: number): void {
    this.#handlers.signal?.throwIfAborted()
    const done = this.doneIn(stage) + count
    this.#done.set(stage, done)
    this.#handlers.onProgress?.({ stage, done })
  }

  /** A range in pages, so that what its records lead to is read together. */
  async *pages(range: Range): AsyncGenerator<readonly Entry[], void, undefined> {
    let page: Entry[] = []
    for await (const entry of this.records.list(range)) {
      page.push(entry)
      if (page.length === PAGE) {
        yield page
        page = []
      }
    }
    if (page.length > 0) yield page
  }

  async one(key: Key): Promise<Entry | undefined> {
    const [entry] = await this.records.get([key])
    return entry
  }

  /** A record as JSON, `undefined` where it is not there or (which is a difference) cannot be read. */
  async read<T>(kind: DifferenceKind, key: Key): Promise<T | undefined> {
    return this.decode<T>(kind, await this.one(key))
  }

  decode<T>(kind: DifferenceKind, entry: Entry | undefined): T | undefined {
    return entry && this.guard(kind, entry.key, () => jsonOf<T>(entry))
  }
}

/** Believes that the record has the members that it was written with: what it lacks shows in what is checked, or throws. */
export function jsonOf<T>(entry: Entry): T {
  const value: unknown = JSON.parse(decodeUtf8(entry.value))
  if (typeof value !== 'object' || value === null) throw new TypeError('it is no JSON object')
  return value as T
}
