import { setTimeout as delay } from 'node:timers/promises'
import {
  isRegistryError,
  itemsOf,
  RegistryError,
  type Commit,
  type CommitResult,
  type Entry,
  type Key,
  type Logger,
  type Range,
  type RecordEraser,
  type RecordSnapshot,
  type RecordStore,
  type SnapshotSource,
} from '../kit/index.ts'
import { makeDirectory, nodeFiles } from '../files/durable.ts'
import { openLevelRecords, type OpenLevelOptions } from './directory.ts'
import { DiskRoom } from './disk-room.ts'
import { systemAdvice } from '../files/errors.ts'
import type { LevelRecords } from './records.ts'

/** Options of `openReopeningRecords`. */
export interface ReopeningOptions extends Omit<OpenLevelOptions, 'logger'> {
  readonly logger?: Pick<Logger, 'info' | 'error'>
  /**
   * Size of a file that keeps disk space in reserve. On a full disk it is removed, so that the store can be opened and
   * read. Default 0: no such file.
   */
  readonly reserveBytes?: number
  /** Time between attempts to open the store again. Default: 5,000. */
  readonly retryMs?: number
  /** The space on the disk. Default: that of the directory. */
  readonly room?: Pick<DiskRoom, 'isEnough' | 'missingBytes' | 'spendIfNeeded' | 'restore'>
}

const RETRY_MS = 5_000
const MIB = 1024 * 1024
/** When the reserve file is written after the start, so that a short run does not write it. */
const RESERVE_AFTER_MS = 10_000

/**
 * Opens the record store in a directory as `openLevelRecords` does. After a failed write it opens the store again by
 * itself, as soon as the disk can be written and has room. The open checks what the store holds. Until then commits
 * throw `STORE_POISONED`, and reads work.
 *
 * @param directory path of the store; it is created if it does not exist (0700)
 * @param options see `ReopeningOptions`
 * @returns the opened store; close it with `close()`
 * @throws RegistryError as `openLevelRecords`
 */
export async function openReopeningRecords(
  directory: string,
  options: ReopeningOptions = {},
): Promise<ReopeningRecords> {
  await makeDirectory(nodeFiles, directory)
  const room = options.room ?? new DiskRoom(directory, options.reserveBytes ?? 0)
  const hasSpentReserve = await room.spendIfNeeded()
  const open = () => openLevelRecords(directory, options)
  const records = new ReopeningRecords(await open(), { ...options, room, open })
  if (hasSpentReserve) records.poison(new Error('No space left on device'))
  return records
}

type OpenedOptions = ReopeningOptions & {
  readonly room: NonNullable<ReopeningOptions['room']>
  readonly open: () => Promise<LevelRecords>
}

/** A store that is opened again by itself after a failed write. */
export class ReopeningRecords implements RecordStore, SnapshotSource, RecordEraser {
  readonly #options: OpenedOptions
  readonly #closing = new AbortController()
  readonly #reserving: Promise<void>
  /** Rejected while the store could not be opened again. */
  #store: Promise<LevelRecords>
  #cause: unknown
  /** What must be freed on the disk before the store is opened again. */
  #missingBytes = 0
  #recovery: Promise<void> | undefined

  constructor(store: LevelRecords, options: OpenedOptions) {
    this.#store = Promise.resolve(store)
    this.#options = options
    this.#reserving = this.#reserve()
  }

  /** Whether an earlier write failed, so that commits are rejected. */
  get isPoisoned(): boolean {
    return this.#recovery !== undefined
  }

  /** Rejects commits, and begins to open the store again. */
  poison(cause: unknown): void {
    if (this.#recovery !== undefined || this.#closing.signal.aborted) return
    this.#cause = cause
    this.#recovery = this.#recover()
  }

  get(keys: readonly Key[]): Promise<readonly (Entry | undefined)[]> {
    return this.#read((store) => store.get(keys))
  }

  list(range: Range): AsyncIterable<Entry> {
    return itemsOf(this.#listPages(range))
  }

  async *#listPages(range: Range): AsyncGenerator<readonly Entry[], void, undefined> {
    this.#assertOpen()
    const store = await this.#store
    try {
      yield* store.listPages(range)
    } catch (error) {
      throw this.#readError(error)
    }
  }

  snapshot(): Promise<RecordSnapshot> {
    return this.#read((store) => store.snapshot())
  }

  commit(commit: Commit): Promise<CommitResult> {
    return this.#write((store) => store.commit(commit))
  }

  eraseHistory(keys: readonly Key[]): Promise<boolean> {
    return this.#write((store) => store.eraseHistory(keys))
  }

  readLog(from: number, count: number): Promise<Uint8Array> {
    return this.#read((store) => store.readLog(from, count))
  }

  readPayloads(from: number, count: number): Promise<readonly Uint8Array[]> {
    return this.#read((store) => store.readPayloads(from, count))
  }

  logSize(): Promise<number> {
    return this.#read((store) => store.logSize())
  }

  positionsOf(entries: readonly Uint8Array[]): Promise<readonly (number | undefined)[]> {
    return this.#read((store) => store.positionsOf(entries))
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([this.#recovery, this.#reserving])
    await (await this.#store.catch(() => undefined))?.close()
  }

  #assertOpen(): void {
    if (this.#closing.signal.aborted) throw new RegistryError('CLOSED', 'The record store is closed')
  }

  async #read<T>(read: (store: LevelRecords) => Promise<T>): Promise<T> {
    this.#assertOpen()
    try {
      return await read(await this.#store)
    } catch (error) {
      throw this.#readError(error)
    }
  }

  /** Poisons the store if the write fails. */
  async #write<T>(write: (store: LevelRecords) => Promise<T>): Promise<T> {
    this.#assertOpen()
    if (this.#recovery !== undefined)
      throw new RegistryError('STORE_POISONED', `The record store accepts no writes: ${this.#advice()}`, {
        cause: this.#cause,
      })
    try {
      return await write(await this.#store)
    } catch (error) {
      if (isRegistryError(error, 'UNKNOWN_OUTCOME') || isRegistryError(error, 'STORE_POISONED'))
        this.poison(error.cause ?? error)
      throw error
    }
  }

  /** A read that was under way while the store was opened again fails, but may be repeated. */
  #readError(error: unknown): unknown {
    if (!isRegistryError(error, 'CLOSED') || this.#closing.signal.aborted) return error
    return new RegistryError('UNAVAILABLE', 'The record store was opened again meanwhile: try again', { cause: error })
  }

  async #recover(): Promise<void> {
    const { room, retryMs = RETRY_MS, logger } = this.#options
    const { signal } = this.#closing
    await this.#measureRoom()
    logger?.error({ err: this.#cause }, `the record store accepts no writes: ${this.#advice()}`)
    for (;;) {
      await delay(retryMs, undefined, { signal, ref: false }).catch(() => undefined)
      if (signal.aborted) return
      await this.#measureRoom()
      if (!(await room.isEnough())) continue
      try {
        await this.#reopen()
        await room.restore(signal)
        this.#recovery = undefined
        logger?.info({}, 'the record store was opened again and checked: it accepts writes')
        return
      } catch (error) {
        logger?.error({ err: error }, 'the record store could not be opened again: it is tried again')
      }
    }
  }

  /** The amount is only part of a message, so it is not an error if the file system does not tell it. */
  async #measureRoom(): Promise<void> {
    this.#missingBytes = await this.#options.room.missingBytes().catch(() => 0)
  }

  /** What to do about the failed write, and when the store is opened again. */
  #advice(): string {
    const advice = systemAdvice(this.#cause) ?? 'a write failed; look at the cause, and check the disk'
    const missing = Math.ceil(this.#missingBytes / MIB)
    return missing === 0
      ? `${advice}. Then it opens again by itself`
      : `${advice}. It opens again by itself once ${missing} MiB more are free`
  }

  /** Calls that come meanwhile wait for the new store. */
  async #reopen(): Promise<void> {
    const reopened = this.#closeAndOpen()
    this.#store = reopened
    reopened.catch(() => undefined)
    await reopened
  }

  async #closeAndOpen(): Promise<LevelRecords> {
    const store = await this.#store.catch(() => undefined)
    await store?.close()
    return this.#options.open()
  }

  async #reserve(): Promise<void> {
    const { signal } = this.#closing
    const isClosing = await delay(RESERVE_AFTER_MS, false, { signal, ref: false }).catch(() => true)
    if (!isClosing) await this.#options.room.restore(signal)
  }
}
