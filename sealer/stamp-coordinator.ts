import { toHex } from '../core/bytes.ts'
import { RegistryError } from '../core/errors.ts'
import { logKeys } from '../core/log/keys.ts'
import { entryOf, tokenOpening } from '../core/commitment/log-entry.ts'
import type { LogReader } from '../core/log/reader.ts'
import { decodeRecord, encodeRecord } from '../core/store/record-codec.ts'
import type { CheckpointRecord, StampRecord, StampToken } from '../core/log/records.ts'
import { distinctTokens, isSameAuthority } from '../core/log/stamp-claim.ts'
import type { Check, Commit, SealerHost, ValidationData, Write } from '../core/ports.ts'
import { msUntilDue, type Schedule } from './schedule.ts'

/** A round without a quorum holds the next one up for so long: what is down must not keep the others from newer checkpoints. */
const MISSING_QUORUM_TIMEOUT_MS = 60_000
const MAX_ATTEMPTS = 20

/** What an authority is to stamp now, or when to ask again. */
export type StampTask = { readonly checkpoint: Pick<CheckpointRecord, 'size' | 'note'> } | { readonly dueInMs: number }

/** A token, and what goes with it. */
export interface NewToken {
  readonly token: StampToken
  /** The whole response. */
  readonly response: Uint8Array
  readonly validationData: readonly ValidationData[]
}

type AuthorityIdentity = Pick<StampToken, 'authority' | 'trustAnchors'>

/**
 * Which checkpoint the authorities stamp together: the largest that one of them has stamped, until it is time for the newest. All of it
 * is read from the store, so that restarts and other processes find the same round. Tokens are added one by one, each with its log entry
 * in one commit; with the one that makes the quorum, the partial stamp becomes a stamp.
 */
export class StampCoordinator {
  readonly #host: SealerHost
  readonly #reader: LogReader
  readonly #quorum: number
  readonly #schedule: Schedule
  #stampedSize = 0

  constructor(host: SealerHost, reader: LogReader, quorum: number, pace: Schedule) {
    this.#host = host
    this.#reader = reader
    this.#quorum = quorum
    this.#schedule = pace
  }

  /** Size of the newest checkpoint with a quorum, 0 where there is none. */
  get stampedSize(): number {
    return this.#stampedSize
  }

  /** Learns of the newest stamp. */
  async observe(): Promise<void> {
    this.#stampedSize = Math.max(this.#stampedSize, (await this.#reader.latestStamp())?.size ?? 0)
  }

  async nextTask(authority: AuthorityIdentity): Promise<StampTask> {
    const [stamp, partial] = await Promise.all([this.#reader.latestStamp(), this.#reader.latestPartialStamp()])
    this.#stampedSize = Math.max(this.#stampedSize, stamp?.size ?? 0)
    // Read after the stamps, so that it is never behind them.
    const newest = await this.#reader.latestCheckpoint()
    if (newest === undefined) return { dueInMs: this.#schedule.pollIntervalMs }
    const round = (partial?.size ?? 0) > (stamp?.size ?? 0) ? partial : stamp
    if (round === undefined) return { checkpoint: newest }
    const hasQuorum = round === stamp || this.#hasQuorum(round)
    // The quorum may have been lowered since.
    if (hasQuorum && round === partial) await this.#store(round)
    const { intervalMs, pollIntervalMs } = this.#schedule
    const pauseMs = hasQuorum ? intervalMs : Math.max(intervalMs, MISSING_QUORUM_TIMEOUT_MS)
    const dueInMs = msUntilDue(round.beganAt, pauseMs, this.#host.clock.now())
    if (newest.size > round.size && dueInMs <= 0) return { checkpoint: newest }
    const isStamped = round.tokens.some((token) => isSameAuthority(token, authority))
    if (!isStamped) return { checkpoint: { size: round.size, note: round.checkpoint } }
    return { dueInMs: newest.size > round.size && hasQuorum ? dueInMs : pollIntervalMs }
  }

  /** Adds a token to its checkpoint's stamp, unless its authority is there already: then another process was faster. */
  addToken({ size, note }: Pick<CheckpointRecord, 'size' | 'note'>, stamped: NewToken): Promise<void> {
    return this.#store({ size, checkpoint: note, tokens: [], beganAt: this.#host.clock.now() }, stamped)
  }

  #hasQuorum({ tokens }: StampRecord): boolean {
    return distinctTokens(tokens).length >= this.#quorum
  }

  /** Decides on what is stored, commits, and decides anew where another token was faster. */
  async #store(first: StampRecord, stamped?: NewToken): Promise<void> {
    const [whole, partial] = [logKeys.stamp(first.size), logKeys.partialStamp(first.size)]
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const [stamp, part] = await this.#host.records.get([whole, partial])
      const stored = decodeRecord<StampRecord>(stamp ?? part) ?? first
      const isNew = stamped !== undefined && !stored.tokens.some((token) => isSameAuthority(token, stamped.token))
      const next = isNew ? { ...stored, tokens: [...stored.tokens, stamped.token] } : stored
      const isWhole = stamp !== undefined || this.#hasQuorum(next)
      if (!isNew && (stamp !== undefined || !isWhole)) return
      const checks: Check[] = [
        { key: whole, version: stamp?.version ?? null },
        { key: partial, version: part?.version ?? null },
      ]
      const writes: Write[] = isWhole
        ? [{ key: whole, value: encodeRecord({ ...next, quorum: next.quorum ?? this.#quorum }) }]
        : [{ key: partial, value: encodeRecord(next) }]
      if (isWhole && part !== undefined) writes.push({ key: partial, value: null })
      const result = await this.#host.records.commit(
        await this.#withToken({ checks, writes }, isNew ? stamped : undefined),
      )
      if (!result.ok) continue
      if (isWhole) this.#stampedSize = Math.max(this.#stampedSize, next.size)
      this.#log(next, isWhole, stamped)
      return
    }
    throw new RegistryError('UNAVAILABLE', 'Too many others write to the same stamp; it is tried again')
  }

  async #withToken(commit: Commit, stamped: NewToken | undefined): Promise<Commit> {
    if (stamped === undefined) return commit
    const opening = tokenOpening(stamped.response)
    const entry = entryOf(opening)
    return {
      ...commit,
      writes: [
        ...(commit.writes ?? []),
        { key: logKeys.controlOpening(toHex(entry)), value: opening },
        ...(await this.#newValidationData(stamped)),
      ],
      append: entry,
    }
  }

  /** Only what is not there yet: a list of revoked certificates goes with a thousand tokens. */
  async #newValidationData({ token, validationData: evidence }: NewToken): Promise<readonly Write[]> {
    const values = new Map(token.evidence.map(({ sha256 }, i) => [logKeys.validationData(sha256), evidence[i]?.der]))
    const stored = await this.#host.records.get([...values.keys()])
    return [...values].flatMap(([key, value], i) => (stored[i] === undefined && value ? [{ key, value }] : []))
  }

  #log({ size, tokens }: StampRecord, isWhole: boolean, stamped: NewToken | undefined): void {
    const { authority, serialNumber } = stamped?.token ?? {}
    const fields = { size, authority, serialNumber, tokens: tokens.length, quorum: this.#quorum }
    this.#host.logger.info(fields, isWhole ? 'checkpoint stamped' : 'checkpoint stamped by one of the quorum')
  }
}
