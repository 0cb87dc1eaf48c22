import { encodeUtf8, toBase64 } from '../core/bytes.ts'
import { DueTime } from '../core/clock.ts'
import { logKeys } from '../core/log/keys.ts'
import type { LogReader } from '../core/log/reader.ts'
import { accountsWith } from '../core/log/attestation-rules.ts'
import { anchorEntries } from '../core/store/derived.ts'
import { decodeRecord } from '../core/store/codec.ts'
import { putRecord } from '../core/store/entries.ts'
import { readAll } from '../core/store/read.ts'
import {
  NO_ANCHORS,
  type AnchorHeadRecord,
  type AnchorRecord,
  type AnchorTransaction,
  type CheckpointRecord,
} from '../core/log/records.ts'
import type { Anchor, AnchorStatus, PreparedAnchor, SealerHost, Version, Write } from '../core/ports/index.ts'
import {
  anchorWrite,
  confirmedBy,
  corruptError,
  isSameChain,
  lastTransactionOf,
  preparedOf,
  type AnchorConfirmedBy,
} from './anchor-record.ts'
import { reviewUnsettled } from './reorg.ts'
import type { DurationObserver, Schedule } from './schedule.ts'

/** When anchors are due, and when their transactions are replaced. */
export interface AnchorSchedule extends Schedule {
  /** A stuck or rejected transaction is replaced when it is this old, ms. */
  readonly replaceAfterMs: number
}

/** Confirmed anchors that are not settled are polled less often: every so many poll intervals. */
const POLLS_PER_REVIEW = 10

/** The anchor head. Every change of an anchor checks its version, so all changes happen one after the other. */
interface AnchorHead {
  readonly record: AnchorHeadRecord
  readonly version: Version | null
}

interface AnchorerOptions {
  readonly host: SealerHost
  readonly reader: LogReader
  readonly anchor: Anchor
  readonly schedule: AnchorSchedule
  readonly onDuration?: DurationObserver | undefined
}

/**
 * Anchors the newest checkpoint, one anchor at a time: prepare → store → broadcast → poll → confirm. The signed
 * transaction is stored before it is sent. So after a crash the same transaction is sent again, and nothing is paid
 * twice.
 */
export class Anchorer {
  readonly #host: SealerHost
  readonly #reader: LogReader
  readonly #anchor: Anchor
  readonly #schedule: AnchorSchedule
  readonly #onDuration: DurationObserver | undefined
  readonly #nextAnchor = new DueTime()
  readonly #nextReview = new DueTime()
  readonly #replacement = new DueTime()
  #anchoredSize = 0
  #confirmations = 0
  #oldestUnanchoredAt: number | null = null
  #reviewedAt: number | undefined

  constructor({ host, reader, anchor, schedule, onDuration }: AnchorerOptions) {
    this.#onDuration = onDuration
    this.#host = host
    this.#reader = reader
    this.#anchor = anchor
    this.#schedule = schedule
  }

  /** Size of the newest confirmed anchor, 0 if there is none. */
  get anchoredSize(): number {
    return this.#anchoredSize
  }

  /** Of the outstanding anchor, 0 if its transaction is in no block. */
  get confirmations(): number {
    return this.#confirmations
  }

  /** When the oldest batch that waits for a confirmed anchor was sealed, ms since 1970; `null` if none does. */
  get oldestUnanchoredAt(): number | null {
    return this.#oldestUnanchoredAt
  }

  /**
   * Advances the outstanding anchor by one step, or starts a new anchor. Returns after how many ms the next step is
   * due.
   */
  async step(signal: AbortSignal): Promise<number> {
    const head = await this.observe()
    if (await this.#review(head, signal)) return 0
    const { outstanding } = head.record
    if (outstanding === null) return this.#startNext(head, signal)
    const anchor = await this.#reader.anchor(outstanding)
    if (anchor === undefined)
      throw corruptError(`The record of the outstanding anchor of size ${outstanding} is missing`)
    if (!isSameChain(anchor.info, this.#anchor.info)) return this.#abandonOtherChain(head, anchor, signal)
    return anchor.state === 'prepared' ? this.#send(head, anchor, signal) : this.#poll(head, anchor, signal)
  }

  /** Reads how far anchoring is, and changes nothing. */
  async observe(): Promise<AnchorHead> {
    const head = await this.#head()
    this.#anchoredSize = head.record.confirmedSize
    this.#oldestUnanchoredAt = (await this.#reader.oldestUnattested(this.#anchoredSize))?.createdAt ?? null
    return head
  }

  /** Prepares an anchor for the newest checkpoint if it needs one and the interval has passed. */
  async #startNext(head: AnchorHead, signal: AbortSignal): Promise<number> {
    const checkpoint = await this.#reader.checkpoints.latest()
    const last = await this.#reader.latestAnchor()
    if (checkpoint === undefined || !(await this.#reader.needsAttestation(checkpoint.size, last?.size ?? 0)))
      return this.#schedule.pollIntervalMs
    const dueInMs = this.#nextAnchor.msUntil(
      last?.transactions[0]?.preparedAt,
      this.#schedule.intervalMs,
      this.#host.clock.now(),
    )
    if (dueInMs > 0) return dueInMs
    const anchor = await this.#prepare(checkpoint, signal)
    await this.#store(head, anchor, { ...head.record, outstanding: anchor.size })
    return 0
  }

  async #prepare({ size, root, note }: CheckpointRecord, signal: AbortSignal): Promise<AnchorRecord> {
    const prepared = await this.#anchor.prepare({ checkpoint: encodeUtf8(note) }, signal)
    return {
      size,
      root,
      checkpoint: note,
      info: this.#anchor.info,
      transactions: [this.#transactionOf(prepared)],
      state: 'prepared',
    }
  }

  /**
   * Sends the stored transaction. If the call fails, the status shows whether the chain accepted it. A transaction that
   * is rejected for too long is replaced.
   */
  async #send(head: AnchorHead, anchor: AnchorRecord, signal: AbortSignal): Promise<number> {
    const last = lastTransactionOf(anchor)
    try {
      await this.#anchor.broadcast(preparedOf(last).raw, signal)
    } catch (error) {
      const statuses = await this.#anchor.status(anchor.transactions.map(preparedOf), signal)
      if (statuses.at(-1)?.state === 'unknown') {
        if (this.#isOld(last)) return this.#replace(head, anchor, statuses, signal)
        throw error
      }
    }
    const sentSize = Math.max(head.record.sentSize, anchor.size)
    await this.#store(head, { ...anchor, state: 'sent' }, { ...head.record, sentSize })
    this.#host.logger.info({ size: anchor.size, ref: last.ref }, 'anchor sent')
    return this.#schedule.pollIntervalMs
  }

  /** Polls all transactions of the anchor: the original may be mined although a replacement was sent. */
  async #poll(head: AnchorHead, anchor: AnchorRecord, signal: AbortSignal): Promise<number> {
    const { transactions } = anchor
    const statuses = await this.#anchor.status(transactions.map(preparedOf), signal)
    const confirmed = confirmedBy(anchor, statuses)
    if (confirmed !== undefined) return this.#confirm(head, confirmed)
    this.#confirmations = Math.max(0, ...statuses.map((each) => (each.state === 'included' ? each.confirmations : 0)))
    const live = statuses.filter(({ state }) => state === 'pending' || state === 'included')
    if (live.length > 0) {
      const isStuck = live.every((status) => status.state === 'pending' && status.stuck)
      if (isStuck && this.#isOld(transactions.at(-1))) return this.#replace(head, anchor, statuses, signal)
      return this.#schedule.pollIntervalMs
    }
    // Dropped or removed by a reorganization: the newest transaction that can still be included is sent again.
    const unknown = transactions.findLast((_, i) => statuses[i]?.state === 'unknown')
    if (unknown === undefined) return this.#replace(head, anchor, statuses, signal)
    this.#host.logger.warn(
      { size: anchor.size, ref: unknown.ref },
      'the chain does not know the anchor: it is sent again',
    )
    try {
      await this.#anchor.broadcast(preparedOf(unknown).raw, signal)
    } catch (error) {
      if (!this.#isOld(transactions.at(-1))) throw error
      return this.#replace(head, anchor, statuses, signal)
    }
    return this.#schedule.pollIntervalMs
  }

  /**
   * Replaces a transaction that is stuck, rejected or can never be included. The record keeps all earlier transactions.
   * If none of them can be included any more and there is a newer checkpoint, that one is anchored instead.
   */
  async #replace(
    head: AnchorHead,
    anchor: AnchorRecord,
    statuses: readonly AnchorStatus[],
    signal: AbortSignal,
  ): Promise<number> {
    const reasons = statuses.map((status) => (status.state === 'failed' ? status.reason : status.state))
    this.#host.logger.warn(
      { size: anchor.size, reasons },
      'the anchor transaction is not included: another one is prepared',
    )
    const allFailed = statuses.every(({ state }) => state === 'failed')
    const sentSize = allFailed ? head.record.confirmedSize : head.record.sentSize
    const newest = allFailed ? await this.#reader.checkpoints.latest() : undefined
    if (newest !== undefined && newest.size > anchor.size) {
      const next = await this.#prepare(newest, signal)
      const lost = anchorWrite({ ...anchor, state: 'lost' })
      await this.#store(head, next, { ...head.record, sentSize, outstanding: next.size }, [lost])
      return 0
    }
    const replaces = anchor.transactions.map(preparedOf)
    const prepared = await this.#anchor.prepare({ checkpoint: encodeUtf8(anchor.checkpoint), replaces }, signal)
    const transactions = [...anchor.transactions, this.#transactionOf(prepared)]
    await this.#store(head, { ...anchor, transactions, state: 'prepared' }, { ...head.record, sentSize })
    return 0
  }

  /**
   * The outstanding anchor was sent to a chain that is no longer configured: anchors the newest checkpoint on the
   * present chain.
   */
  async #abandonOtherChain(head: AnchorHead, anchor: AnchorRecord, signal: AbortSignal): Promise<number> {
    const { size, root, checkpoint, info } = anchor
    this.#host.logger.warn({ size, chain: info }, 'the outstanding anchor is on another chain: it is abandoned')
    const newest = (await this.#reader.checkpoints.latest()) ?? { size, root, note: checkpoint }
    const next = await this.#prepare(newest, signal)
    const lost = next.size > size ? [anchorWrite({ ...anchor, state: 'lost' })] : []
    const record = { ...head.record, sentSize: head.record.confirmedSize, outstanding: next.size }
    await this.#store(head, next, record, lost)
    return 0
  }

  async #confirm(head: AnchorHead, { anchor, ref, status }: AnchorConfirmedBy): Promise<number> {
    const { blockNumber, settled } = status
    const { unsettled, sentSize } = head.record
    const confirmedSize = Math.max(head.record.confirmedSize, anchor.size)
    await this.#store(
      head,
      anchor,
      {
        ...head.record,
        confirmedSize,
        sentSize: Math.max(sentSize, confirmedSize),
        outstanding: null,
        unsettled: settled ? unsettled : [...unsettled, anchor.size],
      },
      anchorEntries(anchor),
    )
    this.#anchoredSize = confirmedSize
    this.#onDuration?.('anchor', Math.max(0, this.#host.clock.now() - (anchor.transactions[0]?.preparedAt ?? 0)))
    this.#host.logger.info({ size: anchor.size, ref, blockNumber }, 'anchor confirmed')
    return 0
  }

  /**
   * Polls the confirmed anchors that are not settled, at most once per review interval. Returns true if something
   * changed.
   */
  async #review(head: AnchorHead, signal: AbortSignal): Promise<boolean> {
    const { records, clock, logger } = this.#host
    if (head.record.unsettled.length === 0) return false
    const reviewMs = this.#schedule.pollIntervalMs * POLLS_PER_REVIEW
    if (this.#nextReview.msUntil(this.#reviewedAt, reviewMs, clock.now()) > 0) return false
    const review = await reviewUnsettled({ records, reader: this.#reader, anchor: this.#anchor }, head.record, signal)
    this.#reviewedAt = clock.now()
    if (review === undefined) return false
    await this.#commit(head, review.head, review.writes)
    this.#anchoredSize = review.head.confirmedSize
    if (review.reorged.length > 0)
      logger.warn(
        { sizes: review.reorged, outstanding: review.head.outstanding },
        'a chain reorganization removed blocks of confirmed anchors: the outstanding anchor covers them',
      )
    return true
  }

  #isOld(transaction: AnchorTransaction | undefined): boolean {
    return (
      this.#replacement.msUntil(transaction?.preparedAt, this.#schedule.replaceAfterMs, this.#host.clock.now()) <= 0
    )
  }

  #transactionOf({ ref, raw }: PreparedAnchor): AnchorTransaction {
    return { ref, raw: toBase64(raw), preparedAt: this.#host.clock.now() }
  }

  async #head(): Promise<AnchorHead> {
    const [entry] = await readAll(this.#host.records, [logKeys.anchorHead()])
    return { record: decodeRecord(entry) ?? NO_ANCHORS, version: entry?.version ?? null }
  }

  async #store(
    head: AnchorHead,
    anchor: AnchorRecord,
    record: AnchorHeadRecord,
    more: readonly Write[] = [],
  ): Promise<void> {
    const info = anchor.state === 'prepared' ? anchor.info : undefined
    const accounts = accountsWith({ ...head.record, outstanding: anchor.size }, info)
    await this.#commit(head, { ...record, accounts }, [anchorWrite(anchor), ...more])
  }

  /**
   * Commits anchors together with the head. On a conflict another sealer was first, and the next step reads its result.
   */
  async #commit(head: AnchorHead, record: AnchorHeadRecord, writes: readonly Write[]): Promise<void> {
    await this.#host.records.commit({
      checks: [{ key: logKeys.anchorHead(), version: head.version }],
      writes: [...writes, putRecord(logKeys.anchorHead(), record)],
    })
  }
}
