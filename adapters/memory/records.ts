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
  readonly snapshots = this
  /** Old values are nowhere once they are overwritten. */
  readonly eraser = null
  readonly fileChecker = null
  readonly isShared = false
  #entries = new Map<Key, Stored>()
  /** The keys in their order, as they were when they were listed last, and those that were added or removed since. */
  #keys: readonly Key[] = []
  readonly #changedKeys = new Set<Key>()
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

  async *list({ gte, lt, reverse = false, limit = Infinity }: Range): AsyncIterable<Stored> {
    let range: Range = { gte, lt, reverse }
    for (let left = limit; left > 0;) {
      this.#assertOpen()
      const keys = this.#keysIn(range, Math.min(PAGE_SIZE, left))
      const page = keys.map((key) => copyOf(this.#entries.get(key)))
      for (const entry of page) if (entry !== undefined) yield entry
      const last = keys.at(-1)
      if (last === undefined || keys.length < PAGE_SIZE) return
      left -= keys.length
      // The smallest string above it.
      range = reverse ? { gte, lt: last, reverse } : { gte: `${last}\0`, lt }
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
    copy.#keys = this.#sortedKeys()
    copy.#log = this.#log.slice()
    for (const payload of this.#payloads) copy.#payloads.push(payload)
    copy.#logSize = this.#logSize
    return copy
  }

  isPoisoned(): boolean {
    return false
  }

  async close(): Promise<void> {
    this.#closed = true
  }

  #apply(plan: GroupPlan): void {
    for (const entry of plan.puts) {
      if (!this.#entries.has(entry.key)) this.#changedKeys.add(entry.key)
      this.#entries.set(entry.key, { ...entry, value: entry.value.slice() })
    }
    for (const key of plan.deletes) if (this.#entries.delete(key)) this.#changedKeys.add(key)
    this.#append(plan.appended)
    this.#lastVersion = plan.lastVersion
  }

  /** The first keys of a range, in its direction. */
  #keysIn({ gte, lt, reverse }: Range, count: number): readonly Key[] {
    const keys = this.#sortedKeys()
    const [from, to] = [lowerBound(keys, gte), lowerBound(keys, lt)]
    if (reverse !== true) return keys.slice(from, Math.min(to, from + count))
    return keys.slice(Math.max(from, to - count), to).toReversed()
  }

  /** Sorted when they are listed, because a million keys that are only written need no order. */
  #sortedKeys(): readonly Key[] {
    if (this.#changedKeys.size > 0) {
      const kept = this.#keys.filter((key) => !this.#changedKeys.has(key))
      const added = [...this.#changedKeys].filter((key) => this.#entries.has(key)).sort()
      // Two sorted parts, which are merged in linear time.
      this.#keys = [...kept, ...added].sort()
      this.#changedKeys.clear()
    }
    return this.#keys
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

/** Returns the index of the first key that is not less than `key`. Keys are ASCII, so `<` is the bytewise order. */
function lowerBound(keys: readonly Key[], key: Key): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const other = keys[middle]
    if (other !== undefined && other < key) low = middle + 1
    else high = middle
  }
  return low
}
