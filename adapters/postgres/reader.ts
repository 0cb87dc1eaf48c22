import {
  assertLogRange,
  concatBytes,
  decodedPages,
  itemsOf,
  LOG_ENTRY_BYTES,
  packRows,
  payloadsOfRows,
  ROW_ENTRIES,
  type Stored,
  type Range,
  type RecordSnapshot,
} from '../kit/index.ts'
import type { Database } from './database.ts'
import {
  entryRowsFrom,
  headOf,
  keyBytes,
  keyOfColumn,
  payloadRowOf,
  recordOf,
  type EntryRowRow,
  type ListRow,
  type PayloadRowRow,
} from './rows.ts'

/** Rows in the first page of a list without a limit, and in any page. */
const FIRST_PAGE_SIZE = 128
const MAX_PAGE_SIZE = 1_024
/** Rows of the log in one read: 512 KiB of entries, twice that on the wire. */
const LOG_PAGE_ROWS = 64
/** Rows of payloads in one read: about 300 KiB, twice that on the wire. */
const PAYLOAD_PAGE_ROWS = 8

/** Reads records and the log in pages, through the connections of the database or in a snapshot. */
export class PostgresReader implements Omit<RecordSnapshot, 'close'> {
  readonly #query: Database['query']
  readonly #sql: Database['sql']
  readonly #checked: Database['checked']

  constructor(query: Database['query'], database: Database) {
    this.#query = query
    this.#sql = database.sql
    this.#checked = (decode) => database.checked(decode)
  }

  list(range: Range): AsyncIterable<Stored> {
    return itemsOf(this.#listPages(range))
  }

  /** A caller that gives a limit needs all of its rows; one without may end anywhere, so its first page is small. */
  async *#listPages(range: Range): AsyncGenerator<readonly Stored[], void, undefined> {
    let { gte, lt } = range
    const { limit = Infinity, reverse = false, keysOnly = false } = range
    const sql = this.#sql
    const [ascending, descending] = keysOnly ? [sql.listKeys, sql.listKeysReverse] : [sql.list, sql.listReverse]
    const statement = reverse ? descending : ascending
    for (let [left, size] = [limit, limit === Infinity ? FIRST_PAGE_SIZE : limit]; left > 0; size = MAX_PAGE_SIZE) {
      size = Math.min(size, left, MAX_PAGE_SIZE)
      const page = await this.#query<ListRow>(statement, [keyBytes(gte), keyBytes(lt), size])
      yield* decodedPages(page, (row) => this.#checked(() => recordOf(row)))
      const last = page.at(-1)
      if (last === undefined || page.length < size) return
      left -= page.length
      const lastKey = keyOfColumn(last[0])
      if (reverse) lt = lastKey
      else gte = `${lastKey}\0` // the smallest key above it
    }
  }

  async readLog(from: number, count: number): Promise<Uint8Array> {
    const pages: Uint8Array[] = []
    await this.#readPages({ from, count, pageRows: LOG_PAGE_ROWS }, async (start, at, end) => {
      const rows = await this.#query<EntryRowRow>(this.#sql.logEntries, [start, end])
      const page = this.#checked(() => packRows(entryRowsFrom(start, rows), at, end - at))
      pages.push(page)
      return page.length / LOG_ENTRY_BYTES
    })
    const [onlyPage] = pages
    return onlyPage !== undefined && pages.length === 1 ? onlyPage : concatBytes(...pages)
  }

  async readPayloads(from: number, count: number): Promise<readonly Uint8Array[]> {
    const payloads: Uint8Array[] = []
    await this.#readPages({ from, count, pageRows: PAYLOAD_PAGE_ROWS }, async (start, at, end) => {
      const rows = await this.#query<PayloadRowRow>(this.#sql.logPayloads, [start, end])
      const page = this.#checked(() => payloadsOfRows(rows.map(payloadRowOf), at, end - at))
      for (const payload of page) payloads.push(payload)
      return page.length
    })
    return payloads
  }

  /**
   * Reads a range of the log in pages. A page begins at the start of a block, ends at the end of one, and is one
   * snapshot, so it sees the rows of a block either before or after they are joined.
   *
   * @param readPage reads the rows from `start` to `end`, and returns how many entries there are from `at` on
   */
  async #readPages(
    { from, count, pageRows }: { readonly from: number; readonly count: number; readonly pageRows: number },
    readPage: (start: number, at: number, end: number) => Promise<number>,
  ): Promise<void> {
    assertLogRange(from, count)
    const end = Math.min(from + count, Number.MAX_SAFE_INTEGER)
    for (let at = from; at < end;) {
      const start = at - (at % ROW_ENTRIES)
      const pageEnd = Math.min(end, start + pageRows * ROW_ENTRIES)
      at += await readPage(start, at, pageEnd)
      if (at < pageEnd) return
    }
  }

  async logSize(): Promise<number> {
    const rows = await this.#query<[Buffer]>(this.#sql.head)
    return this.#checked(() => headOf(rows).logSize)
  }
}
