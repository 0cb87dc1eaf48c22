import { randomBytes } from 'node:crypto'
import type { AbstractChainedBatch } from 'abstract-level'
import { readU64, toHex, u64 } from '../../core/bytes.ts'
import {
  assertCommit,
  assertLogRange,
  keysToRead,
  LOG_ENTRY_BYTES,
  planGroup,
  type GroupPlan,
} from '../../core/store/commit-plan.ts'
import { CommitQueue } from '../../core/store/commit-queue.ts'
import { RegistryError } from '../../core/errors.ts'
import { appendRows, EMPTY_TAIL, packRows, type LogTail } from '../../core/store/log-rows.ts'
import type { Commit, CommitResult, Entry, Key, Range, RecordStore } from '../../core/ports.ts'
import { checkDatabase, type DatabaseState } from './check.ts'
import { copyDatabase } from './copy.ts'
import { toRegistryError, isNotOpen } from './errors.ts'
import * as layout from './layout.ts'
import type { Head, LevelDatabase } from './layout.ts'
import { readRows } from './log-rows.ts'
import { LevelReader } from './reader.ts'

/**
 * Up to this many keys of a group are read one by one on this thread: 1 µs each if they are cached. A getMany takes 1.4 µs each and
 * lets the group wait behind whatever else the event loop has to do (256 in flight: 10,500 against 8,500 creates a second).
 */
const MAX_GROUP_SYNC_KEYS = 1024

/** Up to this many keys are read on this thread for a `get`: 1 µs each if they are cached, where a getMany takes 10 to 20 µs. */
const MAX_GET_SYNC_KEYS = 16

const LIST_PAGE_SIZE = 128

/** Options of `LevelRecords.open`. */
export interface LevelRecordsOptions {
  /** Set it if the database is known to have held data: an empty one then throws `CORRUPT`. Default: false, an empty one is initialized. */
  readonly mustExist?: boolean
  /** Called with the new head after each group is durable, before its commits resolve. Must not throw. */
  readonly afterGroup?: (head: Head) => void
  /** Called once, after the database was closed. */
  readonly afterClose?: () => Promise<void>
}

/**
 * A RecordStore over any abstract-level database. Nothing else may write to that database. Commits are decided one at a time, and the
 * commits that wait while a group is written form the next group: one synced batch. `openLevelRecords` opens one in a directory, with
 * guards against data loss; use the class itself for another database, such as memory-level.
 *
 * The store poisons itself at the first write that fails, because LevelDB continues after such an error and loses what it acknowledges
 * later (500 of 500 synced batches after a full disk). Reads then still work, and each later commit throws `STORE_POISONED` until the
 * store is closed and opened again, which checks it.
 *
 * @example
 * ```ts
 * import { MemoryLevel } from 'memory-level'
 * import { LevelRecords } from 'evidence-registry/adapters/level'
 *
 * const records = await LevelRecords.open(new MemoryLevel<string, Uint8Array>({ valueEncoding: 'view' }))
 * ```
 */
export class LevelRecords implements RecordStore {
  readonly #db: LevelDatabase
  readonly #options: LevelRecordsOptions
  readonly #putOptions: ReturnType<typeof layout.putOptions>
  readonly #reader: LevelReader
  readonly #queue = new CommitQueue((commits) => this.#commitGroup(commits))
  #head: Head
  #tail: LogTail
  #closing: Promise<void> | undefined
  /** A batch was handed to the database and is not done. */
  #isWriting = false
  #poison: { readonly cause: unknown } | undefined

  private constructor(db: LevelDatabase, state: DatabaseState, options: LevelRecordsOptions) {
    this.#db = db
    this.#head = state.head
    this.#tail = state.tail
    this.#options = options
    this.#putOptions = layout.putOptions(db)
    this.#reader = new LevelReader(db)
  }

  /**
   * Opens the database, checks what it holds, and initializes an empty one.
   *
   * @param db a database that is not open yet; the store closes it
   * @param options see `LevelRecordsOptions`
   * @throws RegistryError `CORRUPT` if the last group of commits is not complete; errors of `db.open()` are thrown unchanged
   */
  static async open(db: LevelDatabase, options: LevelRecordsOptions = {}): Promise<LevelRecords> {
    await db.open()
    const state = await checkDatabase(db)
    if (state === undefined && options.mustExist === true)
      throw new RegistryError('CORRUPT', 'The record store is empty, but held data before')
    return new LevelRecords(db, state ?? (await initialize(db)), options)
  }

  /** The head as of the last durable group: number of the last version, size of the log, id of the group. */
  get head(): Head {
    return this.#head
  }

  async get(keys: readonly Key[]): Promise<readonly (Entry | undefined)[]> {
    this.#assertOpen()
    const reader = this.#reader
    // Consecutive reads share a snapshot while nothing is written: only this store writes, and it starts no write between them. During a
    // write the database may or may not hold the new values yet, so only one key is read this way, and not through the cache.
    if (reader.hasGetSync && keys.length <= (this.#isWriting ? 1 : MAX_GET_SYNC_KEYS))
      return keys.map((key) => (this.#isWriting ? reader.getSync(key) : reader.getCached(key)))
    // A getMany takes one snapshot when it is called; with a limit of 1 more keys are never read one by one.
    return this.#read(() => reader.entries(keys, 1))
  }

  async *list(range: Range): AsyncIterable<Entry> {
    this.#assertOpen()
    const { gte, lt, reverse = false, limit = -1 } = range
    const from = gte < layout.FIRST_RECORD_KEY ? layout.FIRST_RECORD_KEY : gte
    const iterator = this.#db.iterator<Key, Uint8Array>({ gte: from, lt, reverse, limit, ...layout.BY_TEXT })
    try {
      for (;;) {
        const page = await this.#read(() => iterator.nextv(LIST_PAGE_SIZE))
        if (page.length === 0) return
        for (const [key, value] of page) yield layout.decodeEnvelope(key, value)
      }
    } finally {
      await iterator.close()
    }
  }

  async commit(commit: Commit): Promise<CommitResult> {
    this.#assertOpen()
    this.#assertWritable()
    assertCommit(commit)
    return this.#queue.add(commit)
  }

  async readLog(from: number, count: number): Promise<Uint8Array> {
    this.#assertOpen()
    assertLogRange(from, count)
    const rows = await this.#read(() => readRows(this.#db, from, from + count))
    return packRows(rows, from, count)
  }

  async logSize(): Promise<number> {
    this.#assertOpen()
    // Read from the database, not from `head`: entries that `get` and `readLog` already see must be counted.
    const [bytes] = await this.#read(() => this.#reader.values([layout.HEAD_KEY], 1))
    const head = bytes && layout.decodeHead(bytes)
    if (head === undefined) throw new RegistryError('CORRUPT', 'The head record of the record store is missing')
    return head.logSize
  }

  async positionsOf(entries: readonly Uint8Array[]): Promise<readonly (number | undefined)[]> {
    this.#assertOpen()
    const positions = await this.#read(() => this.#reader.positions(entries, MAX_GET_SYNC_KEYS))
    return positions.map((position) => position && readU64(position))
  }

  /** Writes the commits that wait, then closes the database. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  /**
   * Copies one snapshot of all data into an empty database, synced. Open the copy with `open`. Commits continue meanwhile.
   * (Copying LevelDB's files instead would release the lock of the process that owns them.)
   *
   * @param target an empty database, open or not; it is left open
   * @throws RegistryError `CONFIG_ERROR` if the target is not empty, `CLOSED` if the store is closed
   */
  async copyTo(target: LevelDatabase): Promise<void> {
    this.#assertOpen()
    await copyDatabase(this.#db, target)
  }

  async #commitGroup(commits: readonly Commit[]): Promise<GroupPlan> {
    this.#assertWritable()
    const entries = await this.#read(() => this.#currentEntries(commits))
    const plan = planGroup(commits, { entries, logSize: this.#head.logSize, lastVersion: this.#head.lastVersion })
    if (plan.lastVersion === this.#head.lastVersion) return plan
    const head = { lastVersion: plan.lastVersion, logSize: plan.logSize, group: randomGroupId() }
    const rows = appendRows(this.#tail, this.#head.logSize, plan.appended)
    const positions = await this.#read(() => this.#newPositions(plan.appended))
    const byText = this.#putOptions
    const changedKeys = [...plan.puts.map(({ key }) => key), ...plan.deletes]
    await this.#write(changedKeys, (batch) => {
      batch.put(layout.HEAD_KEY, layout.encodeHead(head), byText)
      for (const entry of plan.puts) batch.put(entry.key, layout.encodeEnvelope(entry), byText)
      for (const key of plan.deletes) batch.del(key, byText)
      for (const row of rows.puts) batch.put(layout.logRowKey(row.start), row.entries, byText)
      for (const start of rows.deletes) batch.del(layout.logRowKey(start), byText)
      for (const [key, position] of positions) batch.put(key, u64(position), layout.BY_BYTES)
    })
    this.#head = head
    this.#tail = rows.tail
    this.#options.afterGroup?.(head)
    return plan
  }

  async #currentEntries(commits: readonly Commit[]): Promise<Map<Key, Entry>> {
    const keys = [...new Set(commits.flatMap(keysToRead))]
    const entries = new Map<Key, Entry>()
    for (const entry of await this.#reader.entries(keys, MAX_GROUP_SYNC_KEYS))
      if (entry !== undefined) entries.set(entry.key, entry)
    return entries
  }

  /** The index records for appended entries that are not in the log yet. Of equal entries only the first has one. */
  async #newPositions(appended: Uint8Array): Promise<(readonly [Uint8Array, number])[]> {
    const firstOfEach = new Map<string, readonly [Uint8Array, number]>()
    for (let at = 0; at < appended.length; at += LOG_ENTRY_BYTES) {
      const entry = appended.subarray(at, at + LOG_ENTRY_BYTES)
      const hex = toHex(entry)
      if (!firstOfEach.has(hex)) firstOfEach.set(hex, [entry, this.#head.logSize + at / LOG_ENTRY_BYTES])
    }
    const candidates = [...firstOfEach.values()]
    const entries = candidates.map(([entry]) => entry)
    const stored = await this.#reader.positions(entries, MAX_GROUP_SYNC_KEYS)
    return candidates
      .filter((_, index) => stored[index] === undefined)
      .map(([entry, position]) => [layout.positionKey(entry), position])
  }

  /** Writes one synced chained batch: it takes 5.5 ms where an array batch takes 7.9 to 24. */
  async #write(changedKeys: readonly Key[], fill: (batch: Batch) => void): Promise<void> {
    const batch = await this.#read(() => filledBatch(this.#db, fill))
    this.#isWriting = true
    this.#reader.invalidate(changedKeys)
    try {
      await batch.write({ sync: true })
    } catch (cause) {
      if (isNotOpen(cause)) throw toRegistryError(cause)
      this.#poison = { cause }
      throw new RegistryError(
        'UNKNOWN_OUTCOME',
        'A write failed: its data may or may not be there when the record store is opened again',
        { cause },
      )
    } finally {
      this.#isWriting = false
    }
  }

  async #read<T>(read: () => T | Promise<T>): Promise<T> {
    try {
      return await read()
    } catch (error) {
      throw toRegistryError(error)
    }
  }

  #assertWritable(): void {
    if (this.#poison === undefined) return
    const { cause } = this.#poison
    throw new RegistryError(
      'STORE_POISONED',
      'An earlier write to the record store failed, so it accepts no more commits: close it and open it again',
      { cause },
    )
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new RegistryError('CLOSED', 'The record store is closed')
  }

  async #close(): Promise<void> {
    await this.#queue.emptied()
    try {
      await this.#db.close()
    } finally {
      await this.#options.afterClose?.()
    }
  }
}

type Batch = AbstractChainedBatch<LevelDatabase, string, Uint8Array>

async function filledBatch(db: LevelDatabase, fill: (batch: Batch) => void): Promise<Batch> {
  const batch = db.batch()
  try {
    fill(batch)
    return batch
  } catch (error) {
    await batch.close()
    throw error
  }
}

/** Writes the first head. Without a head, an empty store could not be told from one that lost all its data. */
async function initialize(db: LevelDatabase): Promise<DatabaseState> {
  const head = { lastVersion: 0, logSize: 0, group: randomGroupId() }
  await db.batch().put(layout.HEAD_KEY, layout.encodeHead(head), layout.putOptions(db)).write({ sync: true })
  return { head, tail: EMPTY_TAIL }
}

const randomGroupId = (): string => randomBytes(16).toString('hex')
