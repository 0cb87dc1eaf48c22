import { encodeUtf8, fromBase64, toBase64 } from '../core/bytes.ts'
import { RegistryError } from '../core/errors.ts'
import { keys } from '../core/keys.ts'
import type { LogReader } from '../core/log/reader.ts'
import { decodeRecord, encodeRecord } from '../core/log/record-json.ts'
import type {
  AnchorConfirmation,
  AnchorHeadRecord,
  AnchorRecord,
  AnchorTransaction,
  CheckpointRecord,
} from '../core/log/records.ts'
import type { Anchor, AnchorStatus, PreparedAnchor, SealerHost, Version, Write } from '../core/ports.ts'
import { dueIn, type Pace } from './pace.ts'
import { staircaseWrites } from './staircase.ts'

/** The anchor head and the version by which every change of an anchor is checked: so all changes are in one order. */
interface Head {
  readonly record: AnchorHeadRecord
  readonly version: Version | null
}

type Confirmed = Extract<AnchorStatus, { readonly state: 'confirmed' }>

/**
 * Anchors the newest checkpoint, one at a time: prepare → store → broadcast → poll → confirm. Signed bytes are stored before they are sent,
 * so that a crash anywhere sends the same transaction again and never pays twice.
 */
export class Anchorer {
  readonly #host: SealerHost
  readonly #reader: LogReader
  readonly #anchor: Anchor
  readonly #pace: Pace
  #anchoredSize = 0

  constructor(host: SealerHost, reader: LogReader, anchor: Anchor, pace: Pace) {
    this.#host = host
    this.#reader = reader
    this.#anchor = anchor
    this.#pace = pace
  }

  /** Size of the newest confirmed anchor, 0 where there is none. */
  get anchoredSize(): number {
    return this.#anchoredSize
  }

  /** One step of the outstanding anchor, or the first of a new one. Answers when to look again, in ms. */
  async step(signal: AbortSignal): Promise<number> {
    const head = await this.#head()
    this.#anchoredSize = head.record.confirmedSize
    const { outstanding } = head.record
    if (outstanding === null) return this.#begin(head, signal)
    const anchor = await this.#reader.anchor(outstanding)
    if (anchor === undefined)
      throw new RegistryError(
        'CORRUPT',
        `The record of the outstanding anchor of size ${outstanding} is gone: restore the store from a backup`,
      )
    return anchor.state === 'prepared' ? this.#send(head, anchor, signal) : this.#follow(head, anchor, signal)
  }

  /** Prepares an anchor for the newest checkpoint, where there is a new one and it is time. */
  async #begin(head: Head, signal: AbortSignal): Promise<number> {
    const checkpoint = await this.#reader.latestCheckpoint()
    const last = await this.#reader.latestAnchor()
    if (checkpoint === undefined || checkpoint.size <= (last?.size ?? 0)) return this.#pace.pollIntervalMs
    const dueInMs = dueIn(last?.transactions[0]?.preparedAt, this.#pace.intervalMs, this.#host.clock.now())
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

  /** Sends the stored bytes. What fails but was taken shows in the status. */
  async #send(head: Head, anchor: AnchorRecord, signal: AbortSignal): Promise<number> {
    const last = anchor.transactions.at(-1) as AnchorTransaction
    try {
      await this.#anchor.broadcast(rawOf(last), signal)
    } catch (error) {
      const [status] = await this.#anchor.status([last.ref], signal)
      if (status === undefined || status.state === 'unknown') throw error
    }
    const sentSize = Math.max(head.record.sentSize, anchor.size)
    await this.#store(head, { ...anchor, state: 'sent' }, { ...head.record, sentSize })
    this.#host.logger.info({ size: anchor.size, ref: last.ref }, 'anchor sent')
    return this.#pace.pollIntervalMs
  }

  /** Asks after every transaction there was: a replacement must not hide an original that was mined. */
  async #follow(head: Head, anchor: AnchorRecord, signal: AbortSignal): Promise<number> {
    const { transactions } = anchor
    const statuses = await this.#anchor.status(
      transactions.map(({ ref }) => ref),
      signal,
    )
    const at = statuses.findIndex(({ state }) => state === 'confirmed')
    if (at >= 0) return this.#confirm(head, anchor, transactions[at] as AnchorTransaction, statuses[at] as Confirmed)
    if (statuses.some(({ state }) => state === 'pending' || state === 'included')) return this.#pace.pollIntervalMs
    // Dropped or reorged away: the same bytes again. The last one that can still be included.
    const unknown = transactions.findLast((_, i) => statuses[i]?.state === 'unknown')
    if (unknown === undefined) return this.#replace(head, anchor, statuses, signal)
    this.#host.logger.warn(
      { size: anchor.size, ref: unknown.ref },
      'the chain does not know the anchor: it is sent again',
    )
    await this.#anchor.broadcast(rawOf(unknown), signal)
    return this.#pace.pollIntervalMs
  }

  /** No transaction of it can ever be included. A newer checkpoint covers it, so that is anchored instead; else it is tried anew. */
  async #replace(
    head: Head,
    anchor: AnchorRecord,
    statuses: readonly AnchorStatus[],
    signal: AbortSignal,
  ): Promise<number> {
    const reasons = statuses.map((status) => (status.state === 'failed' ? status.reason : status.state))
    this.#host.logger.warn({ size: anchor.size, reasons }, 'the anchor can not be included: another is prepared')
    const newest = await this.#reader.latestCheckpoint()
    if (newest !== undefined && newest.size > anchor.size) {
      const next = await this.#prepare(newest, signal)
      const record = { ...head.record, sentSize: head.record.confirmedSize, outstanding: next.size }
      await this.#store(head, next, record, [anchorWrite({ ...anchor, state: 'lost' })])
      return 0
    }
    const replaces = anchor.transactions.map((transaction) => ({ ref: transaction.ref, raw: rawOf(transaction) }))
    const prepared = await this.#anchor.prepare({ checkpoint: encodeUtf8(anchor.checkpoint), replaces }, signal)
    const transactions = [...anchor.transactions, this.#transactionOf(prepared)]
    await this.#store(
      head,
      { ...anchor, transactions, state: 'prepared' },
      { ...head.record, sentSize: head.record.confirmedSize },
    )
    return 0
  }

  async #confirm(head: Head, anchor: AnchorRecord, { ref }: AnchorTransaction, status: Confirmed): Promise<number> {
    const { blockNumber, blockHash, blockTime, confirmations, evidence } = status
    const confirmation: AnchorConfirmation = {
      ref,
      blockNumber,
      blockHash,
      blockTime,
      confirmations,
      evidence: toBase64(evidence),
    }
    const confirmedSize = Math.max(head.record.confirmedSize, anchor.size)
    await this.#store(
      head,
      { ...anchor, state: 'confirmed', confirmation },
      { confirmedSize, sentSize: Math.max(head.record.sentSize, confirmedSize), outstanding: null },
      await staircaseWrites(this.#host.records, { size: anchor.size, blockNumber }),
    )
    this.#anchoredSize = confirmedSize
    this.#host.logger.info({ size: anchor.size, ref, blockNumber }, 'anchor confirmed')
    return 0
  }

  #transactionOf({ ref, raw }: PreparedAnchor): AnchorTransaction {
    return { ref, raw: toBase64(raw), preparedAt: this.#host.clock.now() }
  }

  async #head(): Promise<Head> {
    const [entry] = await this.#host.records.get([keys.anchorHead()])
    const record = decodeRecord<AnchorHeadRecord>(entry)
    return { record: record ?? { confirmedSize: 0, sentSize: 0, outstanding: null }, version: entry?.version ?? null }
  }

  /** One commit for an anchor and the head. A conflict is another sealer's step: the next step reads what it left. */
  async #store(head: Head, anchor: AnchorRecord, record: AnchorHeadRecord, more: readonly Write[] = []): Promise<void> {
    await this.#host.records.commit({
      checks: [{ key: keys.anchorHead(), version: head.version }],
      writes: [anchorWrite(anchor), { key: keys.anchorHead(), value: encodeRecord(record) }, ...more],
    })
  }
}

const anchorWrite = (anchor: AnchorRecord): Write => ({ key: keys.anchor(anchor.size), value: encodeRecord(anchor) })

function rawOf({ ref, raw }: AnchorTransaction): Uint8Array {
  const bytes = fromBase64(raw)
  if (bytes === undefined)
    throw new RegistryError(
      'CORRUPT',
      `The stored bytes of anchor transaction ${ref} are not base64: restore the store from a backup`,
    )
  return bytes
}
