import { randomUUID } from 'node:crypto'
import { fromHex, toHex } from '../core/bytes.ts'
import { isRegistryError } from '../core/errors.ts'
import { logKeys } from '../core/log/keys.ts'
import type { SealerLeaseRecord } from '../core/log/records.ts'
import type { SealedTree } from '../core/log/sealed-tree.ts'
import type { Clock, RecordStore, SignedHeadKeeper, Version } from '../core/ports/index.ts'
import type { StoredRecord } from '../core/store/keys.ts'
import { decodeRecord } from '../core/store/codec.ts'
import { putRecord } from '../core/store/entries.ts'
import { readAll } from '../core/store/read.ts'

/** For how long a lease holds that is not renewed, unless `leaseMs` says otherwise. */
export const LEASE_MS = 5_000

/** What a sealer has signed, and what the records hold. */
export interface SignedTrees {
  readonly signedHead: Pick<SignedHeadKeeper, 'read'>
  readonly tree: Pick<SealedTree, 'assertHolds'>
}

/**
 * Decides which of several sealers works. It only saves work: every commit of a sealer checks what it depends on, so it
 * is harmless if two sealers hold the lease, or none for a while.
 *
 * The clocks of two machines are never compared. A sealer without the lease measures by its own clock for how long the
 * lease record stays unchanged.
 *
 * The record also has what its holder signed last. So if the records are replaced by an older state, the other sealers
 * learn of a tree that is lost, and do not sign the log again in another way.
 */
export class SealerLease {
  readonly #records: RecordStore
  readonly #clock: Clock
  readonly #leaseMs: number
  readonly #trees: SignedTrees | undefined
  readonly #holder = randomUUID()
  /** When this sealer last renewed the lease. `undefined` while it does not hold it. */
  #renewedAt: number | undefined
  /** The record of another holder, and when this sealer first saw that version. */
  #observed: { readonly version: Version; readonly since: number } | undefined
  #acquiring: Promise<boolean> | undefined
  /** When a step of this sealer failed last. `undefined` after one that succeeded. */
  #failedAt: number | undefined

  constructor(records: RecordStore, clock: Clock, leaseMs: number, trees?: SignedTrees) {
    this.#trees = trees
    this.#records = records
    this.#clock = clock
    this.#leaseMs = leaseMs
  }

  /** Whether this sealer held it when it last looked. */
  get isHeld(): boolean {
    return this.#renewedAt !== undefined
  }

  /**
   * Returns true if this sealer holds the lease. Renews it, or takes it over, if it is time. Throws `LOG_BEHIND_SIGNED`
   * if the records do not hold what its holder signed.
   */
  acquire(): Promise<boolean> {
    const age = this.#renewedAt === undefined ? undefined : this.#clock.now() - this.#renewedAt
    if (age !== undefined && age >= 0 && age < this.#leaseMs / 3) return Promise.resolve(true)
    return (this.#acquiring ??= this.#tryAcquire().finally(() => (this.#acquiring = undefined)))
  }

  /**
   * Notes how the last step ended. From the next renewal on, another sealer may take the lease over from one that
   * fails. Until one does, it is renewed and the sealer goes on, because it may be the only one.
   */
  noteStep(hasFailed: boolean): void {
    this.#failedAt = hasFailed ? this.#clock.now() : undefined
  }

  /** Gives the lease up, so that the next sealer need not wait. Never throws, because the lease also expires. */
  async release(): Promise<void> {
    await this.#acquiring?.catch(() => undefined)
    if (this.#renewedAt === undefined) return
    try {
      const [entry] = await readAll(this.#records, [logKeys.sealerLease()])
      if (entry === undefined || !this.#isMine(entry)) return
      const { key, version } = entry
      await this.#records.commit({ checks: [{ key, version }], writes: [{ key, value: null }] })
    } catch {
      // Another sealer takes it over when it has not changed for a while.
    }
  }

  async #tryAcquire(): Promise<boolean> {
    const now = this.#clock.now()
    const [entry] = await readAll(this.#records, [logKeys.sealerLease()])
    if (entry !== undefined && !this.#isMine(entry)) {
      this.#renewedAt = undefined
      const record = decodeRecord(entry)
      if (this.#observed?.version !== entry.version) await this.#assertHolds(record)
      const isExpired = now - this.#unchangedSince(entry.version, now) >= this.#leaseMs
      if (!isExpired && (record.isFailing !== true || this.#hasJustFailed(now))) return false
    }
    const isAcquired = await this.#write(entry?.version ?? null)
    this.#renewedAt = isAcquired ? now : undefined
    return isAcquired
  }

  /** So that sealers which all fail take it from each other once in the lease time, and not at each poll. */
  #hasJustFailed(now: number): boolean {
    return this.#failedAt !== undefined && Math.abs(now - this.#failedAt) < this.#leaseMs
  }

  /** Since when this sealer has seen this version. Never later than now, also if the clock was set back. */
  #unchangedSince(version: Version, now: number): number {
    const since = this.#observed?.version === version ? Math.min(this.#observed.since, now) : now
    this.#observed = { version, since }
    return since
  }

  async #assertHolds({ signed }: SealerLeaseRecord): Promise<void> {
    const root = signed && fromHex(signed.root)
    if (root !== undefined) await this.#trees?.tree.assertHolds({ size: signed?.size ?? 0, root })
  }

  async #write(version: Version | null): Promise<boolean> {
    const key = logKeys.sealerLease()
    const signed = await this.#trees?.signedHead.read()
    const record = {
      holder: this.#holder,
      ...(signed && { signed: { size: signed.size, root: toHex(signed.root) } }),
      ...(this.#failedAt !== undefined && { isFailing: true }),
    }
    try {
      return (await this.#records.commit({ checks: [{ key, version }], writes: [putRecord(key, record)] })).ok
    } catch (error) {
      if (isRegistryError(error, 'UNKNOWN_OUTCOME')) return false
      throw error
    }
  }

  #isMine(entry: StoredRecord<SealerLeaseRecord>): boolean {
    return decodeRecord(entry).holder === this.#holder
  }
}
