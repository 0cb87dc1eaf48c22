import {
  assertCommit,
  assertLogRange,
  keysToRead,
  LOG_ENTRY_BYTES,
  planGroup,
  RegistryError,
  toHex,
  type Commit,
  type CommitResult,
  type Stored,
  type GroupPlan,
  type Key,
  type LogAppend,
  type Range,
  type RecordSnapshot,
  type RecordStore,
  type SnapshotSource,
} from '../kit/index.ts'
import { SortedKeys } from './sorted-keys.ts'

const PAGE_SIZE = 256

/**
 * A RecordStore in memory, for tests and for embedding without a disk. Its records are lost when the process ends.
 *
 * @example
 * ```ts
 * import { MemoryRecords } from 'evidence-registry/adapters/memory'
 *
 * const records = new MemoryRecords()
 * ```
 */
export class MemoryRecords implements RecordStore, SnapshotSource {
  #entries = new Map<Key, Stored>()
  readonly #keys = new SortedKeys()
  /** Packed log entries. Its capacity doubles when it is full; the first `#logSize` entries are in use. */
  #log = new Uint8Array(256 * LOG_ENTRY_BYTES)
  readonly #payloads: Uint8Array[] = []
  #logSize = 0
  #lastVersion = 0
  readonly #positions = new Map<string, number>()
  #closed = false

  async get(keys: readonly Key[]): Promise<readonly (Stored | undefined)[]> {
    this.#assertOpen()
    return keys.map((key) => copyOf(this.#entries.get(key)))
  }

  async *list(range: Range): AsyncIterable<Stored> {
    let left = range.limit ?? Infinity
    let { gte, lt } = range
    while (left > 0) {
      this.#assertOpen()
      const keys = this.#keys.slice({ ...range, gte, lt }, Math.min(PAGE_SIZE, left))
      const page = keys.map((key) => copyOf(this.#entries.get(key)))
      for (const entry of page) if (entry !== undefined) yield entry
      const last = keys.at(-1)
      if (last === undefined || keys.length < PAGE_SIZE) return
      left -= keys.length
      if (range.reverse === true) lt = last
      else gte = `${last}\0` // the smallest string above it
    }
  }

  async commit(commit: Commit): Promise<CommitResult> {
    this.#assertOpen()
    assertCommit(commit)
    const entries = new Map<Key, Stored>()
    for (const key of keysToRead(commit)) {
      const entry = this.#entries.get(key)
      if (entry !== undefined) entries.set(key, entry)
    }
    const plan = planGroup([commit], { entries, logSize: this.#logSize, lastVersion: this.#lastVersion })
    const [outcome] = plan.outcomes
    if (outcome === undefined) throw new RegistryError('INTERNAL', 'The plan of a commit has no outcome')
    if (outcome instanceof RegistryError) throw outcome
    this.#apply(plan)
    return outcome
  }

  async readLog(from: number, count: number): Promise<Uint8Array> {
    this.#assertOpen()
    assertLogRange(from, count)
    const end = Math.min(this.#logSize, from + count)
    return this.#log.slice(Math.min(from, end) * LOG_ENTRY_BYTES, end * LOG_ENTRY_BYTES)
  }

  async readPayloads(from: number, count: number): Promise<readonly Uint8Array[]> {
    this.#assertOpen()
    assertLogRange(from, count)
    return this.#payloads.slice(from, from + count).map((payload) => payload.slice())
  }

  async logSize(): Promise<number> {
    this.#assertOpen()
    return this.#logSize
  }

  async positionsOf(entries: readonly Uint8Array[]): Promise<readonly (number | undefined)[]> {
    this.#assertOpen()
    return entries.map((entry) => this.#positions.get(toHex(entry)))
  }

  async snapshot(): Promise<RecordSnapshot> {
    this.#assertOpen()
    const copy = new MemoryRecords()
    copy.#entries = new Map(this.#entries)
    for (const key of this.#entries.keys()) copy.#keys.add(key)
    copy.#log = this.#log.slice()
    for (const payload of this.#payloads) copy.#payloads.push(payload)
    copy.#logSize = this.#logSize
    return copy
  }

  async close(): Promise<void> {
    this.#closed = true
  }

  #apply(plan: GroupPlan): void {
    for (const entry of plan.puts) {
      this.#entries.set(entry.key, { ...entry, value: entry.value.slice() })
      this.#keys.add(entry.key)
    }
    for (const key of plan.deletes) if (this.#entries.delete(key)) this.#keys.delete(key)
    this.#append(plan.appended)
    this.#lastVersion = plan.lastVersion
  }

  #append(appended: readonly LogAppend[]): void {
    this.#grow((this.#logSize + appended.length) * LOG_ENTRY_BYTES)
    for (const { entry, payload } of appended) {
      this.#log.set(entry, this.#logSize * LOG_ENTRY_BYTES)
      this.#payloads.push(payload.slice())
      this.#positions.set(toHex(entry), this.#logSize)
      this.#logSize += 1
    }
  }

  #grow(bytes: number): void {
    if (bytes <= this.#log.length) return
    const larger = new Uint8Array(Math.max(this.#log.length * 2, bytes))
    larger.set(this.#log)
    this.#log = larger
  }

  #assertOpen(): void {
    if (this.#closed) throw new RegistryError('CLOSED', 'The record store is closed')
  }
}

/** Copies an entry: callers may change the bytes that they receive. */
const copyOf = (entry: Stored | undefined): Stored | undefined => entry && { ...entry, value: entry.value.slice() }
