import { randomUUID } from 'node:crypto'
import { isRegistryError } from '../core/errors.ts'
import { logKeys } from '../core/log/keys.ts'
import { decodeRecord, encodeRecord } from '../core/store/record-codec.ts'
import type { SealerLeaseRecord } from '../core/log/records.ts'
import type { Clock, Entry, RecordStore, Version } from '../core/ports.ts'

/**
 * Who of several sealers works. It only saves work: every step is decided by what its commit checks, so two that hold the lease, or
 * none for a while, do no harm.
 *
 * No clock is compared with another's: whoever does not hold the lease watches for how long its record stays the same, by its own clock.
 */
export class SealerLease {
  readonly #records: RecordStore
  readonly #clock: Clock
  readonly #leaseMs: number
  readonly #holder = randomUUID()
  /** When this sealer last renewed, while it holds. */
  #renewedAt: number | undefined
  /** The record of another holder, and since when it has been seen unchanged. */
  #observed: { readonly version: Version; readonly since: number } | undefined
  #acquiring: Promise<boolean> | undefined

  constructor(records: RecordStore, clock: Clock, leaseMs: number) {
    this.#records = records
    this.#clock = clock
    this.#leaseMs = leaseMs
  }

  /** True where this sealer is the one to work; renews or takes over where it is time. */
  acquire(): Promise<boolean> {
    const age = this.#renewedAt === undefined ? undefined : this.#clock.now() - this.#renewedAt
    if (age !== undefined && age >= 0 && age < this.#leaseMs / 3) return Promise.resolve(true)
    return (this.#acquiring ??= this.#tryAcquire().finally(() => (this.#acquiring = undefined)))
  }

  /** Lets the next sealer begin at once. Never throws: the lease ends by itself as well. */
  async release(): Promise<void> {
    await this.#acquiring?.catch(() => undefined)
    if (this.#renewedAt === undefined) return
    try {
      const [entry] = await this.#records.get([logKeys.sealerLease()])
      if (entry === undefined || !this.#isMine(entry)) return
      await this.#records.commit({
        checks: [{ key: entry.key, version: entry.version }],
        writes: [{ key: entry.key, value: null }],
      })
    } catch {
      // It is taken over when it has not changed for a while.
    }
  }

  async #tryAcquire(): Promise<boolean> {
    const now = this.#clock.now()
    const [entry] = await this.#records.get([logKeys.sealerLease()])
    if (entry !== undefined && !this.#isMine(entry)) {
      this.#renewedAt = undefined
      if (this.#observed?.version !== entry.version) this.#observed = { version: entry.version, since: now }
      // A clock that was set back must not make this one wait for longer.
      else if (now < this.#observed.since) this.#observed = { ...this.#observed, since: now }
      if (now - this.#observed.since < this.#leaseMs) return false
    }
    const isTaken = await this.#write(entry?.version ?? null)
    this.#renewedAt = isTaken ? now : undefined
    return isTaken
  }

  async #write(version: Version | null): Promise<boolean> {
    const key = logKeys.sealerLease()
    const lease: SealerLeaseRecord = { holder: this.#holder }
    try {
      return (await this.#records.commit({ checks: [{ key, version }], writes: [{ key, value: encodeRecord(lease) }] }))
        .ok
    } catch (error) {
      if (isRegistryError(error, 'UNKNOWN_OUTCOME')) return false
      throw error
    }
  }

  #isMine(entry: Entry): boolean {
    return decodeRecord<SealerLeaseRecord>(entry)?.holder === this.#holder
  }
}
