import { isRegistryError, messageOf } from '../../errors.ts'
import { toHex } from '../../bytes.ts'
import type { Key, RecordStore } from '../../ports/index.ts'
import { tolerantRecords } from './damage.ts'
import { differenceKindOf, isOfDerived, type DifferenceKind } from './families.ts'
import { BoundedMap } from '../../store/bounded-map.ts'
import { decodeRecord } from '../../store/codec.ts'
import type { RecordKey, StoredRecord } from '../../store/keys.ts'

export interface Difference {
  readonly kind: DifferenceKind
  /** The record's key, or `log/POSITION`, or `entry/HEX` of a log entry whose position is not known, or `blob/ID`. */
  readonly key: string
  readonly message: string
  /** The record's right value, if it follows from others: the bytes, or `null` if there must be no such record. */
  readonly repair?: Uint8Array | null
}

/** `evidences`: their events. `indexes`: all other records. */
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

/**
 * Reports that are remembered, so that several parts of the check do not repeat them: at most 2 MiB. If more is
 * damaged, some of it is reported again.
 */
const MAX_REMEMBERED = 10_000

/** The records that are checked in one run, and the differences and progress that it reports. */
export class Check {
  readonly records: RecordStore
  readonly #handlers: FsckHandlers
  readonly #isOutage: (error: unknown) => boolean
  readonly #done = { log: 0, evidences: 0, indexes: 0, blobs: 0 }
  readonly #reported = new BoundedMap<string, number>(MAX_REMEMBERED)
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

  /** Whether this was not reported lately. */
  #isNew(name: string): boolean {
    const isNew = this.#reported.get(name) === undefined
    if (isNew) this.#reported.set(name, 1)
    return isNew
  }

  /**
   * Reports a difference. `repair`: the right value of a record that follows from others, `null` if it must not exist,
   * `undefined` if that is not known.
   */
  report(kind: DifferenceKind, key: string, message: string, repair?: Uint8Array | null): void {
    this.#differences += 1
    this.#handlers.onDifference?.({ kind, key, message, ...(repair !== undefined && { repair }) })
  }

  /** Reports a difference if `holds` is false. */
  expect(holds: boolean, kind: DifferenceKind, key: string, message: string): void {
    if (!holds) this.report(kind, key, message)
  }

  #reportDamaged(key: Key): void {
    if (!this.#isNew(`damaged ${key}`)) return
    const kind = differenceKindOf(key)
    const message = 'Its CRC-32 differs: the stored value is damaged'
    this.report(kind, key, message, isOfDerived(kind) ? null : undefined)
  }

  /** Reports once that a record is missing to which others refer. `from`: the key of one of them. */
  reportMissing(key: Key, from: Key): void {
    if (this.#isNew(`missing ${key}`))
      this.report(differenceKindOf(key), key, `It is missing, but ${from} refers to it`)
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
      const fault = isRegistryError(error, 'VERIFICATION_FAILED') ? 'It does not verify' : 'It cannot be read'
      if (this.#isNew(`unreadable ${key}`)) this.report(kind, key, `${fault}: ${messageOf(error)}`)
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
