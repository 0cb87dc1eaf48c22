import type { AbstractSnapshot } from 'abstract-level'
import {
  assertLogRange,
  itemsOf,
  packRows,
  RegistryError,
  type Range,
  type RecordSnapshot,
  type Stored,
} from '../kit/index.ts'
import { BY_TEXT, HEAD_KEY, logSizeOfHead, type LevelDatabase } from './layout.ts'
import { listPages, readPayloads, readRows, type ToCoded } from './reader.ts'

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

  list(range: Range): AsyncIterable<Stored> {
    return itemsOf(this.#listPages(range))
  }

  async *#listPages(range: Range): AsyncGenerator<readonly Stored[], void, undefined> {
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
    const options = { ...BY_TEXT, snapshot: this.#snapshot }
    return this.#read(async () => logSizeOfHead(await this.#db.get<string, Uint8Array>(HEAD_KEY, options)))
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
