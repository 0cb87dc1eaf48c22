import { messageOf } from '../errors.ts'
import { toHex } from '../bytes.ts'
import type { Key, Range, RecordStore } from '../ports/index.ts'
import { BoundedMap } from '../store/bounded-map.ts'
import { decodeRecord } from '../store/codec.ts'
import { tolerantRecords } from './damage.ts'
import { logKeys } from '../log/keys.ts'
import { COUNTED, DERIVED } from '../store/derived.ts'
import { keys, isInRange, onlyKey, type RecordKey, type RecordRange, type StoredRecord } from '../store/keys.ts'

const KEYS: readonly ((...parts: never[]) => Key | Range)[] = [...Object.values(logKeys), ...Object.values(keys)]

/** Every key of a complete registry: its families in the order of the keys. */
export const KEY_RANGES: readonly Range[] = KEYS.filter((keysOf): keysOf is () => Key | Range => keysOf.length === 0)
  .map((keysOf) => keysOf())
  .filter((family) => family !== keys.filling())
  .map((family) => (typeof family === 'string' ? onlyKey(family) : family))
  .toSorted((a, b) => (a.gte < b.gte ? -1 : 1))

/** What a difference is about. */
export type DifferenceKind =
  /** The identity of the log, or one of its keys. */
  | 'identity'
  /** A log entry: its opening or its position. */
  | 'entry'
  | 'tile'
  | 'batch'
  /** The tree's head, or the tree that was signed last. */
  | 'head'
  | 'checkpoint'
  | 'stamp'
  | 'anchor'
  /** An event: its opening, its txId or its version. */
  | 'event'
  /** An evidence's record, compared with its history. */
  | 'evidence'
  | 'file'
  | 'category'
  | 'source system'
  /** A company, or a record of its audit trail, of uploads, deletions or idempotency keys. */
  | 'other'
  /** An entry of a list or an index. It follows from another record. */
  | 'index'
  | 'counter'
  /** The bytes of a stored file. */
  | 'blob'
  /** A key that belongs to no family. */
  | 'unknown'

const KINDS: readonly (readonly [kind: DifferenceKind, ...ranges: readonly Range[]])[] = [
  ['tile', logKeys.tiles()],
  ['index', onlyKey(logKeys.stampHead()), ...DERIVED.map(({ range }) => range)],
  ['counter', ...COUNTED.map(({ counters }) => counters)],
  ['identity', onlyKey(logKeys.identity())],
  ['head', onlyKey(logKeys.treeHead())],
  ['batch', logKeys.batches()],
  ['checkpoint', logKeys.checkpoints()],
  ['stamp', logKeys.stamps(), logKeys.partialStamps(), logKeys.allValidationData(), onlyKey(logKeys.stampHistory())],
  ['anchor', logKeys.anchors(), onlyKey(logKeys.anchorHead()), onlyKey(logKeys.confirmedUses())],
  ['event', keys.laterEvents()],
  ['evidence', keys.evidences()],
  ['file', keys.files()],
  ['category', keys.allCategories()],
  ['source system', keys.allSourceSystems()],
  ['other', ...KEY_RANGES],
]

/** What a difference of this record is about. */
export const differenceKindOf = (key: Key): DifferenceKind =>
  KINDS.find(([, ...ranges]) => ranges.some((range) => isInRange(key, range)))?.[0] ?? 'unknown'

const DERIVED_KINDS: ReadonlySet<DifferenceKind> = new Set(['tile', 'index', 'counter'])

/** Whether a record follows from others. */
export const isDerived = (key: Key): boolean => DERIVED_KINDS.has(differenceKindOf(key))

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
/**
 * Reports that are remembered, so that several parts of the check do not repeat them: at most 2 MiB. If more is
 * damaged, some of it is reported again.
 */
const MAX_REMEMBERED = 10_000

const familyOf = (key: Key): string => key.slice(0, key.indexOf('/'))

/** The records that are checked in one run, and the differences and progress that it reports. */
export class Check {
  readonly records: RecordStore
  readonly #handlers: FsckHandlers
  readonly #isOutage: (error: unknown) => boolean
  readonly #done = { log: 0, evidences: 0, indexes: 0, blobs: 0 }
  readonly #reported = new BoundedMap<string, number>(MAX_REMEMBERED)
  /** Of each family: how many entries were found that follow from records. */
  readonly #derived = new Map<string, number>()
  #differences = 0
  #readBytes = 0

  /**
   * @param isOutage - tells errors that say nothing about what is stored, such as those of a store that cannot be
   * reached. They are thrown instead of reported. Default: every error is reported.
   */
  constructor(records: RecordStore, handlers: FsckHandlers, isOutage: (error: unknown) => boolean = () => false) {
    this.records = tolerantRecords(records, {
      onDamaged: (key) => this.#reportDamaged(key),
      onDamagedPosition: (entry) => {
        const key = `entry/${toHex(entry)}`
        if (this.#isNew(key)) this.report('entry', key, 'Its position in the index is damaged')
      },
      onBytes: (bytes) => this.countBytes(bytes),
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

  /** Bytes of records and of the log that were read. */
  get readBytes(): number {
    return this.#readBytes
  }

  countBytes(bytes: number): void {
    this.#readBytes += bytes
  }

  /** Notes that an entry was found that follows from a record. */
  countDerived(key: Key): void {
    this.#derived.set(familyOf(key), this.derivedCount(key) + 1)
  }

  /** How many such entries were noted in the family of a key. */
  derivedCount(key: Key): number {
    return this.#derived.get(familyOf(key)) ?? 0
  }

  /** Whether this was not reported lately. */
  #isNew(name: string): boolean {
    const isNew = this.#reported.get(name) === undefined
    if (isNew) this.#reported.set(name, 1)
    return isNew
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
    if (!this.#isNew(`damaged ${key}`)) return
    const message = 'Its CRC-32 differs: the stored value is damaged'
    if (isDerived(key)) this.expectDerived(false, { kind: differenceKindOf(key), key, message, repair: null })
    else this.report(differenceKindOf(key), key, message)
  }

  /** Reports once that a record is missing to which others refer. `from`: the key of one of them. */
  reportMissing(key: Key, from: Key): void {
    if (this.#isNew(`missing ${key}`))
      this.report(differenceKindOf(key), key, `It is missing, but ${from} refers to it`)
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
      const reason = messageOf(error)
      if (this.#isNew(`unreadable ${key}`)) this.report(kind, key, `It cannot be read: ${reason}`)
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
  async *pages<T>(range: RecordRange<T>): AsyncGenerator<readonly StoredRecord<T>[], void, undefined> {
    let page: StoredRecord<T>[] = []
    for await (const entry of this.records.list(range)) {
      page.push(entry)
      if (page.length < PAGE_RECORDS) continue
      yield page
      page = []
    }
    if (page.length > 0) yield page
  }

  async get<T>(key: RecordKey<T>): Promise<StoredRecord<T> | undefined> {
    const [entry] = await this.records.get([key])
    return entry
  }

  /** Reads and decodes a record; `undefined` if it is missing, or cannot be decoded, which is reported. */
  async read<T extends object>(kind: DifferenceKind, key: RecordKey<T>): Promise<NoInfer<T> | undefined> {
    return this.decode(kind, await this.get(key))
  }

  decode<T extends object>(kind: DifferenceKind, entry: StoredRecord<T> | undefined): NoInfer<T> | undefined {
    return entry && this.guard(kind, entry.key, () => decodeRecord(entry))
  }
}
