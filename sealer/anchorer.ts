import { encodeUtf8, toBase64 } from '../core/bytes.ts'
import { RegistryError } from '../core/errors.ts'
import { logKeys } from '../core/log/keys.ts'
import type { LogReader } from '../core/log/reader.ts'
import { decodeRecord, encodeRecord } from '../core/store/record-codec.ts'
import {
  NO_ANCHORS,
  type AnchorHeadRecord,
  type AnchorRecord,
  type AnchorTransaction,
  type CheckpointRecord,
} from '../core/log/records.ts'
import type { Anchor, AnchorStatus, PreparedAnchor, SealerHost, Version, Write } from '../core/ports.ts'
import { anchorWrite, isSameChain, preparedOf, withConfirmation, type ConfirmedStatus } from './anchor-record.ts'
import { msUntilDue, type Schedule } from './schedule.ts'
import { reviewUnsettled } from './reorg.ts'
import { addToFrontierWrites } from './anchor-frontier.ts'

export interface AnchorSchedule extends Schedule {
  /** A transaction that is stuck or refused is replaced when it is so old, ms. */
  readonly replaceAfterMs: number
}

/** Confirmed anchors are asked after again, until they are settled, every so many polls. */
const POLLS_PER_REVIEW = 10

/** The anchor head and the version by which every change of an anchor is checked: so all changes are in one order. */
interface AnchorHead {
  readonly record: AnchorHeadRecord
  readonly version: Version | null
}

/**
 * Anchors the newest checkpoint, one at a time: prepare → store → broadcast → poll → confirm. Signed bytes are stored before they are sent,
 * so that a crash anywhere sends the same transaction again and never pays twice.
 */
export class Anchorer {
  readonly #host: SealerHost
  readonly #reader: LogReader
  readonly #anchor: Anchor
  readonly #schedule: AnchorSchedule
  #anchoredSize = 0
  #reviewedAt: number | undefined

  constructor(host: SealerHost, reader: LogReader, anchor: Anchor, pace: AnchorSchedule) {
    this.#host = host
    this.#reader = reader
    this.#anchor = anchor
    this.#schedule = pace
  }

  /** Size of the newest confirmed anchor, 0 where there is none. */
  get anchoredSize(): number {
    return this.#anchoredSize
  }

  /** One step of the outstanding anchor, or the first of a new one. Answers when to look again, in ms. */
  async step(signal: AbortSignal): Promise<number> {
    const head = await this.observe()
    if (await this.#review(head, signal)) return 0
    const { outstanding } = head.record
    if (outstanding === null) return this.#startNext(head, signal)
    const anchor = await this.#reader.anchor(outstanding)
    if (anchor === undefined)
      throw new RegistryError(
        'CORRUPT',
        `The record of the outstanding anchor of size ${outstanding} is gone: restore the store from a backup`,
      )
    if (!isSameChain(anchor.info, this.#anchor.info)) return this.#abandonOtherChain(head, anchor, signal)
    return anchor.state === 'prepared' ? this.#send(head, anchor, signal) : this.#poll(head, anchor, signal)
  }

  /** Learns how far anchoring is, and does nothing for it. */
  async observe(): Promise<AnchorHead> {
    const head = await this.#head()
    this.#anchoredSize = head.record.confirmedSize
    return head
  }

  /** Prepares an anchor for the newest checkpoint, where there is a new one and it is time. */
  async #startNext(head: AnchorHead, signal: AbortSignal): Promise<number> {
    const checkpoint = await this.#reader.latestCheckpoint()
    const last = await this.#reader.latestAnchor()
    if (checkpoint === undefined || checkpoint.size <= (last?.size ?? 0)) return this.#schedule.pollIntervalMs
    const dueInMs = msUntilDue(last?.transactions[0]?.preparedAt, this.#schedule.intervalMs, this.#host.clock.now())
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

  /** Sends the stored bytes. What fails but was taken shows in the status; what is refused again and again is replaced. */
  async #send(head: AnchorHead, anchor: AnchorRecord, signal: AbortSignal): Promise<number> {
    const last = anchor.transactions.at(-1) as AnchorTransaction
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

  /** Asks after every transaction there was: a replacement must not hide an original that was mined. */
  async #poll(head: AnchorHead, anchor: AnchorRecord, signal: AbortSignal): Promise<number> {
    const { transactions } = anchor
    const statuses = await this.#anchor.status(transactions.map(preparedOf), signal)
    const at = statuses.findIndex(({ state }) => state === 'confirmed')
    if (at >= 0)
      return this.#confirm(head, anchor, transactions[at] as AnchorTransaction, statuses[at] as ConfirmedStatus)
    const live = statuses.filter(({ state }) => state === 'pending' || state === 'included')
    if (live.length > 0) {
      const isStuck = live.every((status) => status.state === 'pending' && status.stuck)
      if (isStuck && this.#isOld(transactions.at(-1))) return this.#replace(head, anchor, statuses, signal)
      return this.#schedule.pollIntervalMs
    }
    // Dropped or reorged away: the same bytes again. The last one that can still be included.
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
   * Its transactions are stuck, refused, or can never be included: another is prepared, and the ones before stay with it. Where none of
   * them can be included any more and a newer checkpoint covers it, that one is anchored instead.
   */
  async #replace(
    head: AnchorHead,
    anchor: AnchorRecord,
    statuses: readonly AnchorStatus[],
    signal: AbortSignal,
  ): Promise<number> {
    const reasons = statuses.map((status) => (status.state === 'failed' ? status.reason : status.state))
    this.#host.logger.warn({ size: anchor.size, reasons }, 'the anchor is not included as it is: another is prepared')
    const isDead = statuses.every(({ state }) => state === 'failed')
    const sentSize = isDead ? head.record.confirmedSize : head.record.sentSize
    const newest = isDead ? await this.#reader.latestCheckpoint() : undefined
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

  /** It is of a chain that this process does not anchor on: the newest checkpoint takes its place, on the chain that is. */
  async #abandonOtherChain(head: AnchorHead, anchor: AnchorRecord, signal: AbortSignal): Promise<number> {
    const { size, root, checkpoint, info } = anchor
    this.#host.logger.warn({ size, chain: info }, 'the outstanding anchor is of another chain: it is given up')
    const newest = (await this.#reader.latestCheckpoint()) ?? { size, root, note: checkpoint }
    const next = await this.#prepare(newest, signal)
    const lost = next.size > size ? [anchorWrite({ ...anchor, state: 'lost' })] : []
    const record = { ...head.record, sentSize: head.record.confirmedSize, outstanding: next.size }
    await this.#store(head, next, record, lost)
    return 0
  }

  async #confirm(
    head: AnchorHead,
    anchor: AnchorRecord,
    { ref }: AnchorTransaction,
    status: ConfirmedStatus,
  ): Promise<number> {
    const { blockNumber, settled } = status
    const { unsettled, sentSize } = head.record
    const confirmedSize = Math.max(head.record.confirmedSize, anchor.size)
    await this.#store(
      head,
      withConfirmation(anchor, ref, status),
      {
        confirmedSize,
        sentSize: Math.max(sentSize, confirmedSize),
        outstanding: null,
        unsettled: settled ? unsettled : [...unsettled, anchor.size],
      },
      await addToFrontierWrites(this.#host.records, { size: anchor.size, blockNumber }),
    )
    this.#anchoredSize = confirmedSize
    this.#host.logger.info({ size: anchor.size, ref, blockNumber }, 'anchor confirmed')
    return 0
  }

  /** Looks after confirmed anchors that are not settled, now and then. True where something changed. */
  async #review(head: AnchorHead, signal: AbortSignal): Promise<boolean> {
    const { records, clock, logger } = this.#host
    if (head.record.unsettled.length === 0) return false
    if (msUntilDue(this.#reviewedAt, this.#schedule.pollIntervalMs * POLLS_PER_REVIEW, clock.now()) > 0) return false
    const review = await reviewUnsettled({ records, reader: this.#reader, anchor: this.#anchor }, head.record, signal)
    this.#reviewedAt = clock.now()
    if (review === undefined) return false
    await this.#commit(head, review.head, review.writes)
    this.#anchoredSize = review.head.confirmedSize
    if (review.reorged.length > 0)
      logger.warn(
        { sizes: review.reorged, outstanding: review.head.outstanding },
        'confirmed anchors were reorganised away: they are sent again, or covered by a later one',
      )
    return true
  }

  #isOld(transaction: AnchorTransaction | undefined): boolean {
    return msUntilDue(transaction?.preparedAt, this.#schedule.replaceAfterMs, this.#host.clock.now()) <= 0
  }

  #transactionOf({ ref, raw }: PreparedAnchor): AnchorTransaction {
    return { ref, raw: toBase64(raw), preparedAt: this.#host.clock.now() }
  }

  async #head(): Promise<AnchorHead> {
    const [entry] = await this.#host.records.get([logKeys.anchorHead()])
    return { record: decodeRecord<AnchorHeadRecord>(entry) ?? NO_ANCHORS, version: entry?.version ?? null }
  }

  async #store(
    head: AnchorHead,
    anchor: AnchorRecord,
    record: AnchorHeadRecord,
    more: readonly Write[] = [],
  ): Promise<void> {
    await this.#commit(head, record, [anchorWrite(anchor), ...more])
  }

  /** One commit for anchors and the head. A conflict is another sealer's step: the next step reads what it left. */
  async #commit(head: AnchorHead, record: AnchorHeadRecord, writes: readonly Write[]): Promise<void> {
    await this.#host.records.commit({
      checks: [{ key: logKeys.anchorHead(), version: head.version }],
      writes: [...writes, { key: logKeys.anchorHead(), value: encodeRecord(record) }],
    })
  }
}
