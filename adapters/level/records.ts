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
import { checkDatabase, type Found } from './check.ts'
import { copyDatabase } from './copy.ts'
import { toRegistryError, isNotOpen } from './errors.ts'
import { EntryCache } from './entry-cache.ts'
import * as layout from './layout.ts'
import type { Head, LevelDatabase } from './layout.ts'
import { readRows } from './log-rows.ts'

/**
 * Up to so many keys of a group are read one by one on this thread: 1 µs each where they are cached, where a getMany takes 1.4
 * and lets the group wait behind whatever else the loop has to do (256 in flight: 10,500 against 8,500 creates a second).
 */
const MAX_SYNC_READS = 1024

/** Up to so many keys are read without a promise for a caller: 1 µs each where they are cached, where a getMany takes 10 to 20. */
const MAX_READS_NOW = 16

const LIST_PAGE = 128

export interface LevelRecordsOptions {
  /** An empty database throws `CORRUPT`: it is known to have held something. Default: it is begun. */
  readonly mustExist?: boolean
  /** Called after each group is durable, before its commits are answered, with the new head. Must not throw. */
  readonly afterGroup?: (head: Head) => void
  /** Called once, after the database was closed. */
  readonly afterClose?: () => Promise<void>
}

/**
 * A RecordStore over any abstract-level database that nobody else writes to. Commits are decided one at a time; those
 * that wait while a group is written are the next group, one synced batch.
 *
 * At the first write that fails it poisons itself, because LevelDB goes on after one and loses what it acknowledges
 * later (500 of 500 synced batches after a full disk): reads go on, each later commit throws `STORE_POISONED`, until it
 * is closed, opened again and so checked.
 */
export class LevelRecords implements RecordStore {
  readonly #db: LevelDatabase
  readonly #options: LevelRecordsOptions
  /** abstract-level's types do not name this part of the manifest yet. */
  readonly #canReadNow: boolean
  readonly #putOptions: ReturnType<typeof layout.putOptions>
  readonly #hot = new EntryCache()
  readonly #queue = new CommitQueue((commits) => this.#commitGroup(commits))
  #head: Head
  #tail: LogTail
  #closing: Promise<void> | undefined
  /** A batch is on its way to the database. */
  #isWriting = false
  #poison: { readonly cause: unknown } | undefined

  private constructor(db: LevelDatabase, found: Found, options: LevelRecordsOptions) {
    this.#db = db
    this.#head = found.head
    this.#tail = found.tail
    this.#options = options
    this.#putOptions = layout.putOptions(db)
    this.#canReadNow = Reflect.get(db.supports, 'getSync') === true
  }

  /** Opens the database, checks what it holds (`checkDatabase`: throws `CORRUPT`), and begins an empty one. `close` closes it. */
  static async open(db: LevelDatabase, options: LevelRecordsOptions = {}): Promise<LevelRecords> {
    await db.open()
    const found = await checkDatabase(db)
    if (found === undefined && options.mustExist === true)
      throw new RegistryError('CORRUPT', 'The record store came up empty, but held something before')
    return new LevelRecords(db, found ?? (await begin(db)), options)
  }

  /** The number of the last version and the log's size, as of the last durable group. */
  get head(): Head {
    return this.#head
  }

  async get(keys: readonly Key[]): Promise<readonly (Entry | undefined)[]> {
    this.#assertOpen()
    // Reads one after the other share a snapshot while nothing is written: only this store writes, and it begins nothing in between.
    if (this.#canReadNow && (keys.length === 1 || (keys.length <= MAX_READS_NOW && !this.#isWriting)))
      return keys.map((key) => this.#readNow(key))
    // A getMany takes one snapshot when it is called.
    const values = await this.#read(() => this.#values(keys, 1))
    return keys.map((key, index) => decoded(key, values[index]))
  }

  /** Without a promise: 1 µs where it is cached, where one that waits takes 60. */
  #readNow(key: Key): Entry | undefined {
    // What is being written may be there already, or not yet: then only the database knows.
    if (this.#isWriting) return this.#readDatabase(key)
    const hot = this.#hot.get(key)
    if (hot !== undefined) return hot
    const entry = this.#readDatabase(key)
    if (entry !== undefined) this.#hot.note(entry)
    return entry
  }

  #readDatabase(key: Key): Entry | undefined {
    try {
      return decoded(key, this.#db.getSync<Key, Uint8Array>(key, layout.BY_TEXT))
    } catch (error) {
      throw toRegistryError(error)
    }
  }

  async *list(range: Range): AsyncIterable<Entry> {
    this.#assertOpen()
    const { gte, lt, reverse = false, limit = -1 } = range
    const from = gte < layout.FIRST_RECORD_KEY ? layout.FIRST_RECORD_KEY : gte
    const iterator = this.#db.iterator<Key, Uint8Array>({ gte: from, lt, reverse, limit, ...layout.BY_TEXT })
    try {
      for (;;) {
        const page = await this.#read(() => iterator.nextv(LIST_PAGE))
        if (page.length === 0) return
        for (const [key, value] of page) yield layout.decodeRecord(key, value)
      }
    } finally {
      await iterator.close()
    }
  }

  async commit(commit: Commit): Promise<CommitResult> {
    this.#assertOpen()
    this.#assertSound()
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
    // Not the head of the last answered group: what `get` and `readLog` already see must be in the log.
    const [bytes] = await this.#read(() => this.#values([layout.HEAD_KEY], 1))
    const head = bytes && layout.decodeHead(bytes)
    if (head === undefined) throw new RegistryError('CORRUPT', 'The head record of the record store is gone')
    return head.logSize
  }

  async positionsOf(entries: readonly Uint8Array[]): Promise<readonly (number | undefined)[]> {
    this.#assertOpen()
    const found = await this.#read(() => this.#positions(entries, MAX_READS_NOW))
    return found.map((position) => position && readU64(position))
  }

  /** Writes what waits, then closes the database. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  /**
   * Copies one snapshot of everything into an empty database, synced, which `open` then takes. Commits go on meanwhile.
   * (Copying LevelDB's files instead releases the lock of the process that owns them.)
   */
  async copyTo(target: LevelDatabase): Promise<void> {
    this.#assertOpen()
    await copyDatabase(this.#db, target)
  }

  async #commitGroup(commits: readonly Commit[]): Promise<GroupPlan> {
    this.#assertSound()
    const entries = await this.#read(() => this.#currentEntries(commits))
    const plan = planGroup(commits, { entries, logSize: this.#head.logSize, lastVersion: this.#head.lastVersion })
    if (plan.lastVersion === this.#head.lastVersion) return plan
    const head = { lastVersion: plan.lastVersion, logSize: plan.logSize, group: newGroupId() }
    const rows = appendRows(this.#tail, this.#head.logSize, plan.appended)
    const positions = await this.#read(() => this.#newPositions(plan.appended))
    const byText = this.#putOptions
    const changed = [...plan.puts.map(({ key }) => key), ...plan.deletes]
    await this.#write(changed, (batch) => {
      batch.put(layout.HEAD_KEY, layout.encodeHead(head), byText)
      for (const entry of plan.puts) batch.put(entry.key, layout.encodeRecord(entry), byText)
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
    const values = await this.#values(keys, MAX_SYNC_READS)
    const entries = new Map<Key, Entry>()
    for (const [index, key] of keys.entries()) {
      const entry = decoded(key, values[index])
      if (entry !== undefined) entries.set(key, entry)
    }
    return entries
  }

  /** Index rows for the appended entries that are not in the log yet; of equal ones the first. */
  async #newPositions(appended: Uint8Array): Promise<(readonly [Uint8Array, number])[]> {
    const first = new Map<string, readonly [Uint8Array, number]>()
    for (let at = 0; at < appended.length; at += LOG_ENTRY_BYTES) {
      const entry = appended.subarray(at, at + LOG_ENTRY_BYTES)
      const name = toHex(entry)
      if (!first.has(name)) first.set(name, [entry, this.#head.logSize + at / LOG_ENTRY_BYTES])
    }
    const candidates = [...first.values()]
    const known = await this.#positions(
      candidates.map(([entry]) => entry),
      MAX_SYNC_READS,
    )
    return candidates
      .filter((_, index) => known[index] === undefined)
      .map(([entry, position]) => [layout.positionKey(entry), position])
  }

  async #positions(entries: readonly Uint8Array[], maxSync: number): Promise<(Uint8Array | undefined)[]> {
    const keys = entries.map(layout.positionKey)
    if (keys.length > maxSync || !this.#canReadNow)
      return this.#db.getMany<Uint8Array, Uint8Array>(keys, layout.BY_BYTES)
    return keys.map((key) => this.#db.getSync<Uint8Array, Uint8Array>(key, layout.BY_BYTES))
  }

  async #values(keys: readonly Key[], maxSync: number): Promise<(Uint8Array | undefined)[]> {
    if (keys.length > maxSync || !this.#canReadNow) return this.#db.getMany<Key, Uint8Array>([...keys], layout.BY_TEXT)
    return keys.map((key) => this.#db.getSync<Key, Uint8Array>(key, layout.BY_TEXT))
  }

  /** One synced chained batch: it takes 5.5 ms where an array batch takes 7.9 to 24. */
  async #write(changed: readonly Key[], fill: (batch: Batch) => void): Promise<void> {
    const batch = await this.#read(() => filledBatch(this.#db, fill))
    this.#isWriting = true
    for (const key of changed) this.#hot.drop(key)
    try {
      await batch.write({ sync: true })
    } catch (cause) {
      if (isNotOpen(cause)) throw toRegistryError(cause)
      this.#poison = { cause }
      throw new RegistryError(
        'UNKNOWN_OUTCOME',
        'A write failed: it may or may not be there when the record store is opened again',
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

  #assertSound(): void {
    if (this.#poison === undefined) return
    const { cause } = this.#poison
    throw new RegistryError(
      'STORE_POISONED',
      'A write to the record store failed, so it takes no more: close it and open it again',
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

/** The first head, which also tells an empty store from one that lost everything. */
async function begin(db: LevelDatabase): Promise<Found> {
  const head = { lastVersion: 0, logSize: 0, group: newGroupId() }
  await db.batch().put(layout.HEAD_KEY, layout.encodeHead(head), layout.putOptions(db)).write({ sync: true })
  return { head, tail: EMPTY_TAIL }
}

const newGroupId = (): string => randomBytes(16).toString('hex')

const decoded = (key: Key, value: Uint8Array | undefined): Entry | undefined => value && layout.decodeRecord(key, value)
