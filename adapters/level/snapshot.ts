import type { AbstractSnapshot } from 'abstract-level'
import {
  assertLogRange,
  itemsOf,
  packRows,
  RegistryError,
  type Entry,
  type Key,
  type Range,
  type RecordSnapshot,
} from '../kit/index.ts'
import * as layout from './layout.ts'
import type { LevelDatabase } from './layout.ts'
import { readPayloads, readRows } from './log-rows.ts'

const LIST_PAGE_SIZE = 128

/** Returns the coded error for an error of the database. */
type ToCoded = (error: unknown) => RegistryError

/** Yields pages of the records of a range, of the current state or of a snapshot. */
export async function* listPages(
  db: LevelDatabase,
  { gte, lt, reverse = false, limit = -1, snapshot }: Range & { readonly snapshot?: AbstractSnapshot },
  toCoded: ToCoded,
): AsyncGenerator<readonly Entry[], void, undefined> {
  const from = gte < layout.FIRST_RECORD_KEY ? layout.FIRST_RECORD_KEY : gte
  const iterator = db.iterator<Key, Uint8Array>({ gte: from, lt, reverse, limit, snapshot, ...layout.BY_TEXT })
  try {
    for (let left = limit < 0 ? Infinity : limit; left > 0;) {
      const page = await iterator.nextv(LIST_PAGE_SIZE)
      if (page.length === 0) return
      left -= page.length
      yield* decodedPages(page)
    }
  } catch (error) {
    throw toCoded(error)
  } finally {
    await iterator.close()
  }
}

/** The records of a page. If one of them is damaged, those before it are yielded before the error is thrown. */
function* decodedPages(page: readonly (readonly [Key, Uint8Array])[]): Generator<readonly Entry[], void, undefined> {
  const entries: Entry[] = []
  try {
    for (const [key, value] of page) entries.push(layout.decodeRecordValue(key, value))
  } catch (error) {
    yield entries
    throw error
  }
  yield entries
}

/** One state of a database. Commits continue while it is read. */
export class LevelSnapshot implements RecordSnapshot {
  readonly #db: LevelDatabase
  readonly #snapshot: AbstractSnapshot
  readonly #toCoded: ToCoded
  readonly #onClose: () => void
  #isClosed = false

  /** @param onClose called once the snapshot is closed */
  constructor(db: LevelDatabase, toCoded: ToCoded, onClose: () => void) {
    this.#onClose = onClose
    this.#db = db
    this.#snapshot = db.snapshot()
    this.#toCoded = toCoded
  }

  list(range: Range): AsyncIterable<Entry> {
    return itemsOf(this.#listPages(range))
  }

  async *#listPages(range: Range): AsyncGenerator<readonly Entry[], void, undefined> {
    this.#assertOpen()
    yield* listPages(this.#db, { ...range, snapshot: this.#snapshot }, this.#toCoded)
  }

  async readLog(from: number, count: number): Promise<Uint8Array> {
    this.#assertOpen()
    assertLogRange(from, count)
    const range = { from, end: from + count, snapshot: this.#snapshot }
    return packRows(await this.#read(() => readRows(this.#db, range)), from, count)
  }

  async readPayloads(from: number, count: number): Promise<readonly Uint8Array[]> {
    this.#assertOpen()
    assertLogRange(from, count)
    return this.#read(() => readPayloads(this.#db, { from, end: from + count, snapshot: this.#snapshot }))
  }

  async logSize(): Promise<number> {
    this.#assertOpen()
    const options = { ...layout.BY_TEXT, snapshot: this.#snapshot }
    return this.#read(async () =>
      layout.logSizeOfHead(await this.#db.get<string, Uint8Array>(layout.HEAD_KEY, options)),
    )
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#snapshot.close()
    this.#onClose()
  }

  async #read<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read()
    } catch (error) {
      throw this.#toCoded(error)
    }
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new RegistryError('CLOSED', 'The snapshot is closed')
  }
}
