import { afterEach } from 'node:test'
import { MemoryRecords, MemorySignedHead } from '../../adapters/memory/index.ts'
import { sha256Of, u64 } from '../../core/bytes.ts'
import { openLogIdentity, type LogIdentity } from '../../core/log/identity.ts'
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

/** To be called in a `describe`. What the function that it returns has opened is closed after each test. */
export function sealerFixtures(): typeof SealerFixture.open {
  const opened: SealerFixture[] = []
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((fixture) => fixture.close()))
  })
  return async (...args) => {
    const fixture = await SealerFixture.open(...args)
    opened.push(fixture)
    return fixture
  }
}

/** All stored records of a family, by key. */
export async function recordsOf(records: RecordStore, family: string): Promise<ReadonlyMap<string, Uint8Array>> {
  const values = new Map<string, Uint8Array>()
  for await (const { key, value } of records.list({ gte: `${family}/`, lt: `${family}0` })) values.set(key, value)
  return values
}
