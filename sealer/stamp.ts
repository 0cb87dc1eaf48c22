import { encodeUtf8, equalBytes, sha256, toBase64, toHex } from '../core/bytes.ts'
import { RegistryError } from '../core/errors.ts'
import { keys } from '../core/keys.ts'
import { entryOf, tokenOpening } from '../core/log/entry.ts'
import type { LogReader } from '../core/log/reader.ts'
import { encodeRecord } from '../core/log/record-json.ts'
import type { CheckpointRecord, StampRecord, StampToken } from '../core/log/records.ts'
import type { SealerHost, TimestampAuthority } from '../core/ports.ts'

export interface Pace {
  /** From one to the next at least, ms. 0: each checkpoint, as soon as it is the newest. */
  readonly intervalMs: number
  /** How often to look where nothing tells, ms. */
  readonly pollIntervalMs: number
}

/**
 * Stamps the newest checkpoint, and puts the token into the log, so that each later stamp renews this one. Token, opening and
 * record are one commit; where its outcome is unknown, the next step finds the record or stamps again.
 */
export class Stamper {
  readonly #host: SealerHost
  readonly #reader: LogReader
  readonly #authority: TimestampAuthority
  readonly #pace: Pace
  #stampedSize = 0

  constructor(host: SealerHost, reader: LogReader, authority: TimestampAuthority, pace: Pace) {
    this.#host = host
    this.#reader = reader
    this.#authority = authority
    this.#pace = pace
  }

  /** Size of the newest stamped checkpoint, 0 where there is none. */
  get stampedSize(): number {
    return this.#stampedSize
  }

  /** Stamps, if it is time. Answers when to look again, in ms. */
  async step(signal: AbortSignal): Promise<number> {
    const { pollIntervalMs, intervalMs } = this.#pace
    const last = await this.observe()
    const checkpoint = await this.#reader.latestCheckpoint()
    if (checkpoint === undefined || checkpoint.size <= this.#stampedSize) return pollIntervalMs
    const dueInMs = dueIn(last?.tokens[0]?.genTime, intervalMs, this.#host.clock.now())
    if (dueInMs > 0) return dueInMs
    await this.#stamp(checkpoint, signal)
    return 0
  }

  /** Learns of the newest stamp, and stamps nothing. */
  async observe(): Promise<StampRecord | undefined> {
    const last = await this.#reader.latestStamp()
    this.#stampedSize = last?.size ?? 0
    return last
  }

  async #stamp(checkpoint: CheckpointRecord, signal: AbortSignal): Promise<void> {
    const { records, logger } = this.#host
    const bytes = encodeUtf8(checkpoint.note)
    const response = await this.#authority.stamp(bytes, signal)
    const token = await this.#read(response, sha256(bytes))
    const stamp: StampRecord = { size: checkpoint.size, checkpoint: checkpoint.note, tokens: [token] }
    const opening = tokenOpening(response)
    const entry = entryOf(opening)
    const result = await records.commit({
      checks: [{ key: keys.stamp(stamp.size), version: null }],
      writes: [
        { key: keys.stamp(stamp.size), value: encodeRecord(stamp) },
        { key: keys.otherOpening(toHex(entry)), value: opening },
      ],
      append: entry,
    })
    this.#stampedSize = stamp.size
    if (result.ok)
      logger.info(
        { size: stamp.size, authority: token.authority, serialNumber: token.serialNumber },
        'checkpoint stamped',
      )
  }

  async #read(response: Uint8Array, imprint: Uint8Array): Promise<StampToken> {
    // Loaded with the first token: the ASN.1 libraries are not small.
    const { parseTimeStampResponse } = await import('../core/verify/timestamp.ts')
    const info = parseTimeStampResponse(response)
    if (info.hashAlgorithm !== 'sha256' || !equalBytes(info.imprint, imprint))
      throw new RegistryError(
        'AUTHORITY_FAILED',
        `${this.#authority.info.name} stamped something else than the checkpoint`,
      )
    return {
      authority: this.#authority.info.name,
      assurance: this.#authority.info.assurance,
      genTime: info.genTime,
      serialNumber: info.serialNumber,
      policy: info.policy,
      hashAlgorithm: info.hashAlgorithm,
      imprint: toHex(info.imprint),
      token: toBase64(response),
    }
  }
}

/** ms until an interval after `last` is over; never more than the interval, whatever the clocks say. */
export const dueIn = (last: number | undefined, intervalMs: number, now: number): number =>
  last === undefined ? 0 : Math.min(intervalMs, last + intervalMs - now)
