import {
  allocate,
  assertLogRange,
  assertRow,
  concatBytes,
  encodeUtf8,
  isRegistryError,
  LOG_ENTRY_BYTES,
  packRows,
  readU64,
  RegistryError,
  ROW_ENTRIES,
  versionOf,
  type CommitResult,
  type Entry,
  type EntryRow,
  type Key,
  type Range,
  type RecordStore,
} from '../kit/index.ts'
import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { claimDirectory } from '../files/directory-ownership.ts'
import { classicLevel } from './directory.ts'
import { toRegistryError } from './errors.ts'
import { recoverLinks } from './links.ts'
import { BY_BYTES, BY_TEXT, FIRST_RECORD_KEY, HEAD_KEY, endOfRows, ENTRY_ROWS, formatOfHead } from './layout.ts'
import { rowKey, rowStart, type LevelDatabase } from './layout.ts'

const VERSION_BYTES = 8
const POSITION_PREFIX = encodeUtf8('\0pos')
const LIST_PAGE_SIZE = 128

/**
 * Opens the record store that version 0.1.0 wrote in a directory, to copy it with `upgradedRecords`. It can
 * only be read.
 *
 * @param directory path of the store
 * @returns the opened store; close it with `close()`
 * @throws RegistryError `CONFIG_ERROR` if it does not have store format 1, `STORE_LOCKED` if another store has the
 *   directory open, `UNAVAILABLE` if it cannot be opened
 */
export async function openFormat1Records(directory: string): Promise<RecordStore> {
  const root = await realpath(directory)
  const release = await claimDirectory(root)
  try {
    const database = join(root, 'db')
    await recoverLinks({ directory: root, database })
    return await Format1Records.open(classicLevel(database), release)
  } catch (error) {
    await release()
    if (isRegistryError(error)) throw error
    throw new RegistryError('UNAVAILABLE', `The record store in ${directory} cannot be opened`, { cause: error })
  }
}

/**
 * Reads a database of store format 1, which version 0.1.0 wrote. `upgradedRecords` of core shows its records as the
 * present format has them. Format 1 has no CRC-32, so a copy must be checked with `fsck`.
 */
class Format1Records implements RecordStore {
  readonly #db: LevelDatabase
  readonly #logSize: number
  readonly #afterClose: () => Promise<void>

  private constructor(db: LevelDatabase, logSize: number, afterClose: () => Promise<void>) {
    this.#db = db
    this.#logSize = logSize
    this.#afterClose = afterClose
  }

  /**
   * Opens a database. The store closes it.
   *
   * @throws RegistryError `CONFIG_ERROR` if it does not have format 1; errors of `db.open()` are thrown unchanged
   */
  static async open(db: LevelDatabase, afterClose: () => Promise<void>): Promise<Format1Records> {
    await db.open()
    const [head] = await db.getMany<string, Uint8Array>([HEAD_KEY], BY_TEXT)
    if (head === undefined || formatOfHead(head) !== 1) {
      await db.close()
      throw new RegistryError(
        'CONFIG_ERROR',
        'This record store does not have store format 1: there is nothing to upgrade',
      )
    }
    return new Format1Records(db, readU64(head, 9), afterClose)
  }

  async get(keys: readonly Key[]): Promise<readonly (Entry | undefined)[]> {
    const values = await this.#values(keys)
    return keys.map((key, i) => entryOf(key, values[i]))
  }

  async *list({ gte, lt, reverse = false, limit = Infinity }: Range): AsyncIterable<Entry> {
    const from = gte < FIRST_RECORD_KEY ? FIRST_RECORD_KEY : gte
    const iterator = this.#db.iterator<Key, Uint8Array>({ gte: from, lt, reverse, ...BY_TEXT })
    let left = limit
    try {
      while (left > 0) {
        const page = await iterator.nextv(LIST_PAGE_SIZE)
        if (page.length === 0) return
        for (const [key, value] of page) {
          const entry = entryOf(key, value)
          if (entry !== undefined && left-- > 0) yield entry
        }
      }
    } finally {
      await iterator.close()
    }
  }

  async commit(): Promise<CommitResult> {
    throw new RegistryError('CONFIG_ERROR', 'A record store of format 1 can only be read')
  }

  async readLog(from: number, count: number): Promise<Uint8Array> {
    assertLogRange(from, count)
    const rows: EntryRow[] = []
    let expected = from - (from % ROW_ENTRIES)
    const end = Math.min(from + count, this.#logSize)
    if (from >= end) return new Uint8Array()
    const range = { gte: rowKey(ENTRY_ROWS, expected), lt: endOfRows(ENTRY_ROWS), ...BY_TEXT }
    for await (const [key, entries] of this.#db.iterator<Key, Uint8Array>(range)) {
      const row = { start: rowStart(key), entries }
      if (row.start >= end) break
      assertRow(row, expected)
      expected += entries.length / LOG_ENTRY_BYTES
      if (expected > from) rows.push(row)
    }
    return packRows(rows, from, end - from)
  }

  async readPayloads(): Promise<readonly Uint8Array[]> {
    throw new RegistryError('CONFIG_ERROR', 'A record store of format 1 has no payloads: `upgradedRecords` makes them')
  }

  async logSize(): Promise<number> {
    return this.#logSize
  }

  async positionsOf(entries: readonly Uint8Array[]): Promise<readonly (number | undefined)[]> {
    const positions = await this.#db.getMany<Uint8Array, Uint8Array>(
      entries.map((entry) => concatBytes(POSITION_PREFIX, entry)),
      BY_BYTES,
    )
    return positions.map((position) => position && readU64(position))
  }

  async close(): Promise<void> {
    try {
      await this.#db.close()
    } finally {
      await this.#afterClose()
    }
  }

  async #values(keys: readonly Key[]): Promise<readonly (Uint8Array | undefined)[]> {
    try {
      return await this.#db.getMany<Key, Uint8Array>([...keys], BY_TEXT)
    } catch (error) {
      throw toRegistryError(error)
    }
  }
}

function entryOf(key: Key, bytes: Uint8Array | undefined): Entry | undefined {
  if (bytes === undefined) return undefined
  const value = allocate(Math.max(0, bytes.length - VERSION_BYTES))
  value.set(bytes.subarray(VERSION_BYTES))
  return { key, value, version: versionOf(readU64(bytes)) }
}
