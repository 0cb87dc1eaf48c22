import { createHash } from 'node:crypto'
import { encodeUtf8, equalBytes, sha256, toBase64, toHex } from '../core/bytes.ts'
import { entryOf, tokenOpening } from '../core/commitment/log-entry.ts'
import { DueTime } from '../core/clock.ts'
import { RegistryError } from '../core/errors.ts'
import { logKeys } from '../core/log/keys.ts'
import { appendControl } from '../core/log/payload.ts'
import type { LogReader } from '../core/log/reader.ts'
import type { CheckpointRecord, StampPeriod, StampRecord, StampRules, StampToken } from '../core/log/records.ts'
import { distinctTokens, isSameAuthority, isSameRules } from '../core/log/attestation-rules.ts'
import type { Check, Commit, SealerHost, TimestampAuthority, ValidationData, Write } from '../core/ports/index.ts'
import type { StoredRecord } from '../core/store/keys.ts'
import { decodeRecord, storedBase64 } from '../core/store/codec.ts'
import { putRecord } from '../core/store/entries.ts'
import { readAll } from '../core/store/read.ts'
import { labelOf } from './authorities.ts'
import type { DurationObserver, Schedule } from './schedule.ts'

interface StamperOptions {
  readonly coordinator: StampCoordinator
  readonly authority: TimestampAuthority
  /** SHA-256 (hex) of the public key of each trust anchor. */
  readonly trustAnchors: readonly string[]
  readonly onDuration: DurationObserver | undefined
}

/** Has one authority stamp the checkpoints, independently of the other authorities. */
export class Stamper {
  readonly #options: StamperOptions

  constructor(options: StamperOptions) {
    this.#options = options
  }

  /** Stamps a checkpoint if one is due. Returns after how many ms the next step is due. */
  async step(signal: AbortSignal): Promise<number> {
    const { coordinator, authority, trustAnchors } = this.#options
    const task = await coordinator.nextTask({ authority: authority.info.name, trustAnchors })
    if ('dueInMs' in task) return task.dueInMs
    await this.#stamp(task.checkpoint, signal)
    return 0
  }

  /** Reads the newest stamp, and stamps nothing. */
  async observe(): Promise<void> {
    await this.#options.coordinator.observe()
  }

  /** If the process stops before the token is stored, the checkpoint is stamped again. */
  async #stamp(checkpoint: StampedCheckpoint, signal: AbortSignal): Promise<void> {
    const { coordinator, authority, onDuration } = this.#options
    const startedAt = performance.now()
    const data = encodeUtf8(checkpoint.note)
    const response = await authority.stamp(data, signal)
    const validationData = await authority.validationDataOf(response, signal)
    const token = await this.#tokenOf(response, data, validationData)
    await coordinator.addToken(checkpoint, { token, response, validationData, label: labelOf(authority) })
    onDuration?.('stamp', performance.now() - startedAt)
  }

  async #tokenOf(
    response: Uint8Array,
    data: Uint8Array,
    validationData: readonly ValidationData[],
  ): Promise<StampToken> {
    // Loaded with the first token, because the ASN.1 libraries are large.
    const { parseTimestampResponse } = await import('../core/verify/tokens/timestamp.ts')
    const { authority, trustAnchors } = this.#options
    const { name, assurance } = authority.info
    const info = parseTimestampResponse(response)
    if (!equalBytes(info.imprint, createHash(info.hashAlgorithm).update(data).digest()))
      throw new RegistryError('AUTHORITY_FAILED', `${labelOf(authority)} stamped other data than the checkpoint`)
    return {
      authority: name,
      assurance,
      genTime: info.genTime,
      serialNumber: info.serialNumber,
      policy: info.policy,
      hashAlgorithm: info.hashAlgorithm,
      imprint: toHex(info.imprint),
      token: toBase64(response),
      trustAnchors,
      evidence: validationData.map(({ type, der }) => ({ type, sha256: toHex(sha256(der)) })),
    }
  }
}

/**
 * A stamp without a quorum delays the next one for at most this long. So an authority that is down does not keep the
 * others from stamping newer checkpoints.
 */
const MISSING_QUORUM_TIMEOUT_MS = 60_000
const MAX_ATTEMPTS = 20

/** The checkpoint that an authority must stamp now, or after how many ms it must look again. */
type StampTask = { readonly checkpoint: StampedCheckpoint } | { readonly dueInMs: number }

/** The checkpoint of a stamp. */
type StampedCheckpoint = Pick<CheckpointRecord, 'size' | 'note'>

/** A token of an authority, and what is stored with it. */
interface NewToken {
  readonly token: StampToken
  /** The whole DER TimeStampResp. */
  readonly response: Uint8Array
  readonly validationData: readonly ValidationData[]
  /** Of the authority, for the log. */
  readonly label: string
}

type AuthorityIdentity = Pick<StampToken, 'authority' | 'trustAnchors'>

interface StampCoordinatorOptions {
  readonly host: SealerHost
  readonly reader: LogReader
  readonly rules: StampRules
  readonly schedule: Schedule
}

/**
 * Decides which checkpoint the authorities stamp together: the largest that any of them has stamped, until the newest
 * checkpoint is due. All decisions read the store, so restarted and other processes decide the same. Each token is
 * added with its log entry in one commit. The token that completes the quorum turns the partial stamp into a stamp.
 */
export class StampCoordinator {
  readonly #options: StampCoordinatorOptions
  readonly #next = new DueTime()
  #stampedSize = 0

  constructor(options: StampCoordinatorOptions) {
    this.#options = options
  }

  /** Size of the newest checkpoint with a quorum, 0 if there is none. */
  get stampedSize(): number {
    return this.#stampedSize
  }

  /** Reads the newest stamp. */
  async observe(): Promise<void> {
    this.#noteStamp(await this.#options.reader.latestStamp())
  }

  async nextTask(authority: AuthorityIdentity): Promise<StampTask> {
    const { reader } = this.#options
    const [stamp, partial, newest] = await Promise.all([
      reader.latestStamp(),
      reader.latestPartialStamp(),
      reader.checkpoints.submitted(),
    ])
    this.#noteStamp(stamp)
    if (newest === undefined) return { dueInMs: this.#options.schedule.pollIntervalMs }
    const current = (partial?.size ?? 0) > (stamp?.size ?? 0) ? partial : stamp
    if (current === undefined) return { checkpoint: newest }
    const hasQuorum = current === stamp || this.#hasQuorum(current)
    // The quorum may have been lowered since the last token.
    if (hasQuorum && current === partial) await this.#store(current)
    const newer = (await reader.needsAttestation(newest.size, current.size)) ? newest : undefined
    return this.#taskFor(authority, { current, hasQuorum, newer })
  }

  /**
   * Adds a token to its checkpoint's stamp. Does nothing if another process was first to add one of the same authority.
   */
  addToken({ size, note }: StampedCheckpoint, token: NewToken): Promise<void> {
    return this.#store({ size, checkpoint: note, tokens: [], beganAt: this.#options.host.clock.now() }, token)
  }

  #taskFor(
    authority: AuthorityIdentity,
    { current, hasQuorum, newer }: { current: StampRecord; hasQuorum: boolean; newer: StampedCheckpoint | undefined },
  ): StampTask {
    const { intervalMs, pollIntervalMs } = this.#options.schedule
    const pauseMs = hasQuorum ? intervalMs : Math.max(intervalMs, MISSING_QUORUM_TIMEOUT_MS)
    const dueInMs = this.#next.msUntil(current.beganAt, pauseMs, this.#options.host.clock.now())
    if (newer !== undefined && dueInMs <= 0) return { checkpoint: newer }
    if (!hasTokenOf(current, authority)) return { checkpoint: { size: current.size, note: current.checkpoint } }
    return { dueInMs: newer !== undefined && hasQuorum ? dueInMs : pollIntervalMs }
  }

  #noteStamp(stamp: StampRecord | undefined): void {
    this.#stampedSize = Math.max(this.#stampedSize, stamp?.size ?? 0)
  }

  #hasQuorum({ tokens }: StampRecord): boolean {
    return distinctTokens(tokens).length >= this.#options.rules.quorum
  }

  /** Decides from stored state and commits. Decides again if another token was added in between. */
  async #store(initial: StampRecord, added?: NewToken): Promise<void> {
    const keys = [logKeys.stamp(initial.size), logKeys.partialStamp(initial.size)]
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const [whole, partial] = await readAll(this.#options.host.records, keys)
      const change = this.#decide(initial, { whole, partial }, added)
      if (change === undefined) return
      const withToken = change.added === undefined ? change.commit : await this.#withToken(change.commit, change.added)
      const commit = change.isWhole && whole === undefined ? await this.#withPeriod(withToken, change.stamp) : withToken
      if (!(await this.#options.host.records.commit(commit)).ok) continue
      if (change.isWhole) this.#noteStamp(change.stamp)
      this.#log(change, added)
      return
    }
    throw new RegistryError('UNAVAILABLE', 'Too many processes write to the same stamp; it is tried again')
  }

  /** The change of a stamp. `undefined` if nothing has to be written. */
  #decide(initial: StampRecord, stored: StoredStamp, added: NewToken | undefined): StampChange | undefined {
    const { whole, partial } = stored
    const before = decodeRecord(whole ?? partial) ?? initial
    const isNew = added !== undefined && !hasTokenOf(before, added.token)
    const stamp = isNew ? { ...before, tokens: [...before.tokens, added.token] } : before
    const isWhole = whole !== undefined || this.#hasQuorum(stamp)
    if (!isNew && (whole !== undefined || !isWhole)) return undefined
    return { stamp, isWhole, added: isNew ? added : undefined, commit: this.#commitOf(stamp, isWhole, stored) }
  }

  #commitOf(stamp: StampRecord, isWhole: boolean, { whole, partial }: StoredStamp): Commit {
    const [wholeKey, partialKey] = [logKeys.stamp(stamp.size), logKeys.partialStamp(stamp.size)]
    const checks: Check[] = [
      { key: wholeKey, version: whole?.version ?? null },
      { key: partialKey, version: partial?.version ?? null },
    ]
    const head = putRecord(logKeys.stampHead(), { size: stamp.size })
    if (!isWhole) return { checks, writes: [putRecord(partialKey, stamp), head] }
    const written = putRecord(wholeKey, { ...stamp, quorum: stamp.quorum ?? this.#options.rules.quorum })
    const removed: Write[] = partial === undefined ? [] : [{ key: partialKey, value: null }]
    return { checks, writes: [written, head, ...removed] }
  }

  /** The commit with the token's log entry and validation data. */
  async #withToken(commit: Commit, added: NewToken): Promise<Commit> {
    return {
      ...commit,
      writes: [...(commit.writes ?? []), ...(await this.#newValidationData(added))],
      append: [appendControl(tokenOpening(added.response))],
    }
  }

  /** The commit that also begins a period if this is the first stamp under these rules. Verifiers pin the periods. */
  async #withPeriod(commit: Commit, { size, tokens }: StampRecord): Promise<Commit> {
    const key = logKeys.stampHistory()
    const [stored] = await readAll(this.#options.host.records, [key])
    const { periods } = decodeRecord(stored) ?? { periods: [] }
    const last = periods.at(-1)
    if (last !== undefined && isSameRules(last, this.#options.rules)) return commit
    const token = storedBase64(tokens.at(-1)?.token, 'The token of a stamp')
    const from = last === undefined ? 1 : Math.max(size, last.from + 1)
    const period: StampPeriod = { from, ...this.#options.rules, entry: toHex(entryOf(tokenOpening(token))) }
    return {
      ...commit,
      checks: [...(commit.checks ?? []), { key, version: stored?.version ?? null }],
      writes: [...(commit.writes ?? []), putRecord(key, { periods: [...periods, period] })],
    }
  }

  /** Writes only what is not stored yet: the same CRL belongs to thousands of tokens. */
  async #newValidationData({ validationData }: NewToken): Promise<readonly Write[]> {
    const values = new Map(validationData.map(({ der }) => [logKeys.validationData(toHex(sha256(der))), der]))
    const stored = await this.#options.host.records.get([...values.keys()])
    return [...values].flatMap(([key, value], i) => (stored[i] === undefined ? [{ key, value }] : []))
  }

  #log({ stamp: { size, tokens }, isWhole }: StampChange, added: NewToken | undefined): void {
    const fields = {
      size,
      authority: added?.label,
      serialNumber: added?.token.serialNumber,
      tokens: tokens.length,
      quorum: this.#options.rules.quorum,
    }
    this.#options.host.logger.info(fields, isWhole ? 'checkpoint stamped' : 'checkpoint stamped by one of the quorum')
  }
}

/** The stored records of one checkpoint's stamp. */
interface StoredStamp {
  readonly whole: StoredRecord<StampRecord> | undefined
  readonly partial: StoredRecord<StampRecord> | undefined
}

interface StampChange {
  readonly stamp: StampRecord
  /** True if the stamp has its quorum. */
  readonly isWhole: boolean
  readonly added: NewToken | undefined
  readonly commit: Commit
}

const hasTokenOf = ({ tokens }: StampRecord, authority: AuthorityIdentity): boolean =>
  tokens.some((token) => isSameAuthority(token, authority))
