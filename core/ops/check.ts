import { toHex } from '../bytes.ts'
import type { Entry, Key, Range, RecordStore } from '../ports/index.ts'
import { decodeRecord } from '../store/record-codec.ts'
import { isDerived, kindOf, type DifferenceKind } from './kinds.ts'
import { tolerantRecords } from './damage.ts'

export interface Difference {
  readonly kind: DifferenceKind
  /** The record's key, or `log/POSITION`, or `entry/HEX` of a log entry whose position is not known, or `blob/ID`. */
  readonly key: string
  readonly message: string
  /** The record's right value, if it follows from others: the bytes, or `null` if there must be no such record. */
  readonly repair?: Uint8Array | null
}

export type FsckStage = 'log' | 'evidences' | 'indexes' | 'blobs'

export interface FsckProgress {
  readonly stage: FsckStage
  /** How many entries, events, records or files were checked so far in this stage. */
  readonly done: number
}

export interface FsckHandlers {
  readonly onDifference?: (difference: Difference) => void
  readonly onProgress?: (progress: FsckProgress) => void
  /** Stops the check: `fsck` throws the signal's reason. */
  readonly signal?: AbortSignal
}

/** Records that are read together. */
export const PAGE_RECORDS = 128

/** The records that are checked in one run, and the differences and progress that it reports. */
export class Check {
  readonly records: RecordStore
  readonly #handlers: FsckHandlers
  readonly #isOutage: (error: unknown) => boolean
  readonly #done = { log: 0, evidences: 0, indexes: 0, blobs: 0 }
  readonly #missing = new Set<Key>()
  readonly #unreadable = new Set<string>()
  #differences = 0

  /**
   * @param isOutage - tells errors that say nothing about what is stored, such as those of a store that cannot be
   * reached. They are thrown instead of reported. Default: every error is reported.
   */
  constructor(records: RecordStore, handlers: FsckHandlers, isOutage: (error: unknown) => boolean = () => false) {
    this.records = tolerantRecords(records, {
      onDamaged: (key) => this.#reportDamaged(key),
      onDamagedPosition: (entry) =>
        this.report('entry', `entry/${toHex(entry)}`, 'Its position in the index is damaged'),
    })
    this.#handlers = handlers
    this.#isOutage = isOutage
  }

  get differences(): number {
    return this.#differences
  }

  get done(): Readonly<Record<FsckStage, number>> {
    return { ...this.#done }
  }

  report(kind: DifferenceKind, key: string, message: string): void {
    this.#differences += 1
    this.#handlers.onDifference?.({ kind, key, message })
  }

  /**
   * As `expect`, for a record that follows from others. `repair`: its right value, `null` if it must not exist,
   * `undefined` if that is not known.
   */
  expectDerived(
    holds: boolean,
    { repair, ...difference }: Omit<Difference, 'repair'> & { readonly repair: Uint8Array | null | undefined },
  ): void {
    if (holds) return
    this.#differences += 1
    this.#handlers.onDifference?.({ ...difference, ...(repair !== undefined && { repair }) })
  }

  #reportDamaged(key: Key): void {
    const message = 'Its CRC-32 differs: the stored value is damaged'
    if (isDerived(key)) this.expectDerived(false, { kind: kindOf(key), key, message, repair: null })
    else this.report(kindOf(key), key, message)
  }

  /** Reports once that a record is missing to which others refer. `from`: the key of one of them. */
  reportMissing(key: Key, from: Key): void {
    if (!this.#missing.has(key)) this.report(kindOf(key), key, `It is missing, but ${from} refers to it`)
    this.#missing.add(key)
  }

  /** Reports a difference if `holds` is false. */
  expect(holds: boolean, kind: DifferenceKind, key: string, message: string): void {
    if (!holds) this.report(kind, key, message)
  }

  /**
   * Runs `read`, and reports what it throws as a difference of this record, once for each record, except an outage.
   * Returns `undefined` in that case.
   */
  guard<T>(kind: DifferenceKind, key: string, read: () => T): T | undefined {
    try {
      return read()
    } catch (error) {
      if (this.#isOutage(error)) throw error
      const reason = error instanceof Error ? error.message : String(error)
      if (!this.#unreadable.has(key)) this.report(kind, key, `It cannot be read: ${reason}`)
      this.#unreadable.add(key)
      return undefined
    }
  }

  /** As `guard`, for what reads the store. */
  async guardAsync<T>(kind: DifferenceKind, key: string, read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read()
    } catch (error) {
      return this.guard<T>(kind, key, () => {
        throw error
      })
    }
  }

  /**
   * Runs one part of the check. If a record without its members stops the part, that is reported, and the check can
   * continue with the next part. Errors of the stores and the reason of an aborted signal are thrown.
   */
  async runPart<T>(key: string, part: () => Promise<T>): Promise<T | undefined> {
    try {
      return await part()
    } catch (error) {
      if (!(error instanceof TypeError || error instanceof RangeError)) throw error
      this.report('unknown', key, `The rest of this part is not checked, a record lacks its members: ${error.message}`)
      return undefined
    }
  }

  /** Adds `count` to what was checked in a stage. Throws the reason of an aborted signal. */
  progress(stage: FsckStage, count: number): void {
    this.#handlers.signal?.throwIfAborted()
    this.#done[stage] += count
    this.#handlers.onProgress?.({ stage, done: this.#done[stage] })
  }

  /** Lists a range in pages, so that the records which a page refers to can be read together. */
  async *pages(range: Range): AsyncGenerator<readonly Entry[], void, undefined> {
    let page: Entry[] = []
    for await (const entry of this.records.list(range)) {
      page.push(entry)
      if (page.length < PAGE_RECORDS) continue
      yield page
      page = []
    }
    if (page.length > 0) yield page
  }

  async get(key: Key): Promise<Entry | undefined> {
    const [entry] = await this.records.get([key])
    return entry
  }

  /** Reads and decodes a record; `undefined` if it is missing, or cannot be decoded, which is reported. */
  async read<T extends object>(kind: DifferenceKind, key: Key): Promise<T | undefined> {
    return this.decode<T>(kind, await this.get(key))
  }

  decode<T extends object>(kind: DifferenceKind, entry: Entry | undefined): T | undefined {
    return entry && this.guard(kind, entry.key, () => decodeRecord<T>(entry))
  }
}
