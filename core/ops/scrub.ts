import { messageOf } from '../errors.ts'
import { Background } from '../background.ts'
import type { BlobStore, Clock, Logger, RecordStore } from '../ports/index.ts'
import { Check, type Difference, type FsckStage } from './check/check.ts'
import { isOutage } from './check/damage.ts'
import { checkPage, positionBehind, WALK_START } from './check/walk.ts'

/** Where a scrub is, and what its passes found. It is stored, so that a restart continues there. */
export interface ScrubState {
  /** Where the pass continues. */
  readonly position: string
  /** When the current pass began or may begin, ms since 1970. */
  readonly startedAt: number
  /** Differences of the current pass so far. */
  readonly differences: number
  /** `null` before the first complete pass. */
  readonly lastPass: { readonly completedAt: number; readonly differences: number } | null
}

export interface ScrubStatus {
  /** Bytes that were read since the start. */
  readonly readBytes: number
  /** Log entries, records and files that were checked since the start. */
  readonly checked: Readonly<Record<'log' | 'records' | 'blobs', number>>
  /** Differences of the last complete pass or of the current one, whichever found more. */
  readonly differences: number
  /** When the last complete pass ended, ms since 1970; `null` before the first. */
  readonly lastCompleteAt: number | null
  /** How often the stores could not be read since the start. The scrub tries again. */
  readonly failures: number
}

export interface ScrubOptions {
  readonly records: RecordStore
  readonly blobs: BlobStore
  /** The log's origin. */
  readonly origin: string
  /** How fast it reads. At least 1. */
  readonly bytesPerSecond: number
  /** Least time between the starts of two passes, ms. */
  readonly intervalMs: number
  readonly clock: Clock
  readonly logger: Logger
  /** The state at the end of the last run. */
  readonly state?: ScrubState
  /** Stores the state. A failure is logged. */
  readonly save: (state: ScrubState) => Promise<void>
}

/** The start of a server has other work to do. */
const FIRST_DELAY_MS = 60_000
/** A record that is changed while it is checked is right when it is read again. */
const RECHECK_MS = 1_000
/** Pause after the stores could not be read. */
const RETRY_MS = 30_000
const SAVE_INTERVAL_MS = 60_000
/** An item counts as this many bytes at least, because checking it takes time, too. */
const MIN_ITEM_BYTES = 1_024

/** A page that was checked. */
interface Attempt {
  /** Where the next page begins; `undefined` if this was the last one. */
  readonly next: string | undefined
  readonly done: Readonly<Record<FsckStage, number>>
  readonly differences: readonly Difference[]
}

/**
 * Reads everything that a running registry has stored, slowly and again and again, and logs what is damaged: the files
 * of the record store, which it reads first after each start, because a flipped bit there can hide a record; log
 * entries with their openings, events and tiles; the CRC-32 of every record; the txId of every event; the bytes of
 * every file. Indexes, counters, stamps and anchors are compared with each other by `fsck` only.
 *
 * Others may write meanwhile: a difference counts if it is still there when it is read again. No iterator, file or
 * connection is open during a pause.
 */
export class Scrub {
  readonly #options: ScrubOptions
  readonly #background: Background
  #state: ScrubState
  #savedState: ScrubState
  #savedAt: number
  #readBytes = 0
  #unpacedBytes = 0
  #failures = 0
  /** When the files of the record store are read: after each start, and then with each pass. */
  #filesDue: 'now' | 'with the next pass' | undefined = 'now'
  readonly #checked = { log: 0, records: 0, blobs: 0 }

  /** Begins a minute later. */
  constructor(options: ScrubOptions) {
    this.#options = options
    this.#savedAt = options.clock.now()
    this.#state = options.state ?? { position: WALK_START, startedAt: this.#savedAt, differences: 0, lastPass: null }
    this.#savedState = this.#state
    this.#background = new Background({
      ...options,
      failure: 'the scrub could not read; it tries again',
      retryMs: () => RETRY_MS,
      run: (signal) => this.#run(signal),
    })
    this.#background.request(FIRST_DELAY_MS)
  }

  status(): ScrubStatus {
    const { differences, lastPass } = this.#state
    return {
      readBytes: this.#readBytes,
      checked: { ...this.#checked },
      differences: Math.max(differences, lastPass?.differences ?? 0),
      lastCompleteAt: lastPass?.completedAt ?? null,
      failures: this.#failures,
    }
  }

  /** Ends the current step and stores the position. Call it before the stores are closed. */
  async close(): Promise<void> {
    await this.#background.stop()
    await this.#save()
  }

  /** One step. Returns 0, because there is always another one, which begins with a pause. */
  async #run(signal: AbortSignal): Promise<0> {
    const { clock, intervalMs } = this.#options
    try {
      if (this.#filesDue === 'now') await this.#checkFiles(signal)
      await this.#sleep(Math.min(this.#state.startedAt - clock.now(), intervalMs), signal)
      // The clock was ahead when the last pass ended.
      if (this.#state.startedAt > clock.now()) this.#state = { ...this.#state, startedAt: clock.now() }
      if (this.#filesDue !== undefined) await this.#checkFiles(signal)
      await this.#step(signal)
    } catch (error) {
      if (!signal.aborted) this.#failures += 1
      throw error
    }
    if (Math.abs(clock.now() - this.#savedAt) >= SAVE_INTERVAL_MS) await this.#save()
    return 0
  }

  async #checkFiles(signal: AbortSignal): Promise<void> {
    for await (const { file, bytes, damagedAt } of this.#options.records.fileChecker?.checkFiles() ?? []) {
      this.#countBytes(bytes)
      if (damagedAt !== undefined)
        this.#report([{ kind: 'store file', key: file, message: `It is damaged at byte ${damagedAt}` }])
      await this.#pause(signal)
    }
    this.#filesDue = undefined
  }

  #report(differences: readonly Difference[]): void {
    for (const { kind, key, message } of differences)
      this.#options.logger.error({ kind, key, difference: message }, 'stored data is damaged: run fsck')
    this.#state = { ...this.#state, differences: this.#state.differences + differences.length }
  }

  async #step(signal: AbortSignal): Promise<void> {
    const { position } = this.#state
    const { next, done, differences } = await this.#confirmedAttempt(position, signal)
    this.#report(differences)
    const { log, blobs } = done
    const records = done.evidences + done.indexes
    this.#checked.log += log
    this.#checked.records += records
    this.#checked.blobs += blobs
    if (next === undefined) await this.#completePass()
    else this.#state = { ...this.#state, position: next }
    this.#unpacedBytes = Math.max(this.#unpacedBytes, (log + records) * MIN_ITEM_BYTES)
    await this.#pause(signal)
  }

  /** Reads differences again after a moment, and keeps those that are still there. */
  async #confirmedAttempt(position: string, signal: AbortSignal): Promise<Attempt> {
    const first = await this.#attempt(position, signal)
    if (first.differences.length === 0) return first
    await this.#sleep(RECHECK_MS, signal)
    const second = await this.#attempt(position, signal)
    const isKnown = ({ kind, key }: Difference): boolean =>
      first.differences.some((each) => each.kind === kind && each.key === key)
    return { ...second, differences: second.differences.filter(isKnown) }
  }

  async #attempt(position: string, signal: AbortSignal): Promise<Attempt> {
    const { blobs, origin, records } = this.#options
    const differences: Difference[] = []
    const mustThrow = (error: unknown): boolean => signal.aborted || isOutage(error)
    const onDifference = (difference: Difference): unknown => differences.push(difference)
    const check = new Check(records, { onDifference }, mustThrow)
    const onFileBytes = async (bytes: number): Promise<void> => {
      this.#countBytes(bytes)
      await this.#pause(signal)
    }
    try {
      const next = await checkPage(check, { blobs, origin, onFileBytes, pageFiles: 1 }, position)
      return { next, done: check.done, differences }
    } catch (error) {
      if (mustThrow(error)) throw error
      const reason = messageOf(error)
      differences.push({ kind: 'unknown', key: position, message: `It cannot be read from here on: ${reason}` })
      return { next: positionBehind(position), done: check.done, differences }
    } finally {
      this.#countBytes(check.readBytes)
    }
  }

  async #completePass(): Promise<void> {
    const { clock, intervalMs, logger } = this.#options
    const { differences, startedAt } = this.#state
    const completedAt = clock.now()
    logger.info({ differences, startedAt: new Date(startedAt).toISOString() }, 'the scrub has read everything')
    this.#state = {
      position: WALK_START,
      startedAt: Math.max(completedAt, startedAt + intervalMs),
      differences: 0,
      lastPass: { completedAt, differences },
    }
    this.#filesDue = 'with the next pass'
    await this.#save()
  }

  #countBytes(bytes: number): void {
    this.#readBytes += bytes
    this.#unpacedBytes += bytes
  }

  /** Waits as long as reading the bytes since the last pause may take. */
  async #pause(signal: AbortSignal): Promise<void> {
    const ms = (this.#unpacedBytes * 1_000) / this.#options.bytesPerSecond
    this.#unpacedBytes = 0
    await this.#sleep(ms, signal)
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    await this.#options.clock.sleep(Math.max(0, ms), signal)
  }

  async #save(): Promise<void> {
    if (this.#state === this.#savedState) return
    this.#savedState = this.#state
    this.#savedAt = this.#options.clock.now()
    try {
      await this.#options.save(this.#state)
    } catch (err) {
      this.#options.logger.warn({ err }, 'the position of the scrub could not be stored')
    }
  }
}
