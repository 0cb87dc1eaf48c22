import { afterEach } from 'node:test'
import { MemoryRecords, MemorySignedHead } from '../../adapters/memory/index.ts'
import { sha256Of, u64 } from '../../core/bytes.ts'
import { erasureOpening } from '../../core/commitment/receipt.ts'
import { openLogIdentity, type LogIdentity } from '../../core/log/identity.ts'
import { appendControl } from '../../core/log/payload.ts'
import { LogReader } from '../../core/log/reader.ts'
import type { CheckpointSigner, RecordStore, Sealer, SignedHeadKeeper } from '../../core/ports/index.ts'
import { createSealer, InlineEngine, type SealerOptions } from '../../sealer/index.ts'
import { compileKernel } from '../../sealer/kernel/kernel.ts'
import { ManualClock } from './manual-clock.ts'
import { appendsOf } from '../contract/record-store-pair.ts'
import { testSigner } from './test-signer.ts'
import { recordingLogger } from './recording-logger.ts'

export const FIXTURE_SECRET = new Uint8Array(32).fill(3)

/** A log and its sealers, in memory, with a manual clock. `close` also closes every sealer that was started here. */
export class SealerFixture {
  readonly clock = new ManualClock()
  readonly #log = recordingLogger()
  readonly logger = this.#log.logger
  readonly lines = this.#log.lines
  readonly records: RecordStore
  readonly signedHead: SignedHeadKeeper
  readonly identity: LogIdentity
  #events = 0
  readonly #sealers: Sealer[] = []

  private constructor(records: RecordStore, signedHead: SignedHeadKeeper, identity: LogIdentity) {
    this.records = records
    this.signedHead = signedHead
    this.identity = identity
  }

  static async open(
    records: RecordStore = new MemoryRecords(),
    signedHead: SignedHeadKeeper = new MemorySignedHead(),
    signer: CheckpointSigner = testSigner(),
  ): Promise<SealerFixture> {
    // Compiled in real time, which the manual clock does not wait for.
    await compileKernel()
    const clock = new ManualClock()
    const identity = await openLogIdentity({ records, secret: FIXTURE_SECRET, clock, signer })
    return new SealerFixture(records, signedHead, identity)
  }

  /** A new reader with empty caches. */
  get reader(): LogReader {
    return new LogReader(this.records)
  }

  /** Appends events in one commit, and returns their entries. */
  async append(count: number): Promise<readonly Uint8Array[]> {
    const entries = Array.from({ length: count }, () => sha256Of(u64(this.#events++)))
    await this.records.commit({ append: entries.flatMap(appendsOf) })
    return entries
  }

  /** Appends events, and seals them. */
  async seal(sealer: Sealer, count: number): Promise<void> {
    await this.append(count)
    await sealer.sealNow()
  }

  /** Appends receipts of erasures in one commit. */
  async erase(count: number): Promise<void> {
    const openings = Array.from({ length: count }, () => erasureOpening(sha256Of(u64(this.#events++))))
    await this.records.commit({ append: openings.map(appendControl) })
  }

  /** Creates and starts a sealer. By default its batches close only by `sealNow`. */
  async start(options: SealerOptions = {}, records = this.records): Promise<Sealer> {
    const sealer = createSealer({
      engine: new InlineEngine(),
      maxWaitMs: 3_600_000,
      tsaIntervalMs: 0,
      anchorIntervalMs: 0,
      ...options,
    })
    this.#sealers.push(sealer)
    const { signedHead, identity, clock, logger } = this
    await sealer.start({ records, signedHead, identity, clock, logger })
    return sealer
  }

  async close(): Promise<void> {
    await Promise.all(this.#sealers.map((sealer) => sealer.close()))
  }
}

/**
 * To be called in a `describe`. What its functions have opened is closed after each test.
 *
 * @param check - what must then be true of each log
 */
export function sealerFixtures(check: (fixture: SealerFixture) => Promise<void> = async () => undefined) {
  const opened: SealerFixture[] = []
  afterEach(async () => {
    for (const fixture of opened.splice(0)) {
      await fixture.close()
      await check(fixture)
    }
  })
  const open: typeof SealerFixture.open = async (...args) => {
    const fixture = await SealerFixture.open(...args)
    opened.push(fixture)
    return fixture
  }
  /** Opens a fixture, and starts a sealer of it. */
  const start = async (options?: SealerOptions) => {
    const fixture = await open()
    return { fixture, sealer: await fixture.start(options) }
  }
  return { open, start }
}

/** All stored records of a family, by key. */
export async function recordsOf(records: RecordStore, family: string): Promise<ReadonlyMap<string, Uint8Array>> {
  const values = new Map<string, Uint8Array>()
  for await (const { key, value } of records.list({ gte: `${family}/`, lt: `${family}0` })) values.set(key, value)
  return values
}
