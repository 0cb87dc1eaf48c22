import {
  assertLogRange,
  concatBytes,
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
  keyText,
  payloadRowOf,
  recordOf,
  type EntryRowRow,
  type PayloadRowRow,
  type RecordRow,
} from './rows.ts'

const LIST_PAGE_SIZE = 128
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

  async *list(range: Range): AsyncIterable<Stored> {
    let { gte, lt } = range
    let left = range.limit ?? Infinity
    const { list, listReverse } = this.#sql
    while (left > 0) {
      const size = Math.min(LIST_PAGE_SIZE, left)
      const page = await this.#query<RecordRow>(range.reverse === true ? listReverse : list, [
        keyBytes(gte),
        keyBytes(lt),
        size,
      ])
      for (const row of page) yield this.#checked(() => recordOf(row))
      const last = page.at(-1)
      if (last === undefined || page.length < size) return
      left -= page.length
      if (range.reverse === true) lt = keyText(last[0])
      else gte = `${keyText(last[0])}\0` // the smallest key above it
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
