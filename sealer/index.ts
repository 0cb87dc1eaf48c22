import { RegistryError } from '../core/errors.ts'
import { createIdSource } from '../core/ids.ts'
import { LogReader } from '../core/log/reader.ts'
import type { Anchor, Sealer, SealerHost, SealerStatus, TimestampAuthority, TreeEngine } from '../core/ports.ts'
import { untilAborted } from './aborted.ts'
import { Anchorer } from './anchorer.ts'
import { PoolEngine } from './engine/pool.ts'
import { SealerLease } from './lease.ts'
import { Loop } from './loop.ts'
import { BatchSealer, type BatchRules, type SealPass } from './batch-sealer.ts'
import { authorityRules, type AuthorityRules } from './authorities.ts'
import { Stamper } from './stamper.ts'
import { StampCoordinator } from './stamp-coordinator.ts'

export { InlineEngine } from './engine/inline.ts'
export {
  batchProofs,
  writeBatchProofs,
  type BatchProofs,
  type BatchProofsRequest,
  type WriteBatchProofsRequest,
} from './batch-proofs.ts'
export type { ProofFormat } from './kernel/proofs.ts'
export { PoolEngine, type PoolOptions } from './engine/pool.ts'

/** The sealer owns what it is given here, and closes it. */
export interface SealerOptions {
  /** Default: a pool of worker threads, which start when a batch is first large enough. */
  readonly engine?: TreeEngine
  readonly timestampAuthority?: TimestampAuthority
  /** Several, in place of one: with names of their own and trust anchors that are not each other's. All stamp the same checkpoints. */
  readonly timestampAuthorities?: readonly TimestampAuthority[]
  /** How many of them make a stamp. Default: more than half. */
  readonly quorum?: number | undefined
  readonly anchor?: Anchor
  /** A batch closes when its oldest event is so old, ms. Default 5,000. */
  readonly maxWaitMs?: number
  /** Or when it has so many entries. Default 65,536. */
  readonly maxLeaves?: number
  /** From one anchor to the next at least, ms. Default 0: the newest checkpoint, as soon as the one before is done. */
  readonly anchorIntervalMs?: number
  /** From one stamp to the next at least, ms. Default 0: every checkpoint that is the newest. */
  readonly tsaIntervalMs?: number
  /** How often chains are asked, and stores where nothing tells of news, ms. Default 1,000. */
  readonly pollIntervalMs?: number
  /** How often the chain is asked after an anchor, ms. Default: `pollIntervalMs`. */
  readonly anchorPollIntervalMs?: number
  /** A transaction that the chain passes over or refuses is replaced when it is so old, ms. Default 180,000. */
  readonly anchorReplaceAfterMs?: number
  /** With shared records: for how long a sealer that is not heard of is waited for, ms. Default 5,000. */
  readonly leaseMs?: number
}

/** Fifteen of Ethereum's blocks: what pays its way is in one of them. */
const ANCHOR_REPLACE_AFTER_MS = 180_000
/** The longest pause after failures: outside services get minutes, the own store seconds. */
const MAX_OUTSIDE_BACKOFF_MS = 120_000
const MAX_SEAL_BACKOFF_MS = 5_000
/** How often an open batch is looked at for whether it is full: its due time is kept to the millisecond, its size is not. */
const FULLNESS_POLL_MS = 250

/** Makes a sealer: batches, checkpoints, and, where they are given, stamps and anchors. Throws `CONFIG_ERROR` for rules that cannot be. */
export function createSealer(options: SealerOptions = {}): Sealer {
  return new LogSealer(options)
}

interface Running {
  readonly host: SealerHost
  readonly batches: BatchSealer
  readonly rounds: StampCoordinator
  readonly anchorer: Anchorer | undefined
  /** Where other sealers work on the same records. */
  readonly lease: SealerLease | undefined
  readonly seal: Loop
  /** One for each authority. */
  readonly stamps: readonly Loop[]
  readonly anchor: Loop | undefined
}

/**
 * Loops that do not wait for each other: batches and checkpoints, each authority's stamps, anchors. Each step begins from what is stored, so
 * recovery after a crash is the loop itself.
 */
class LogSealer implements Sealer {
  readonly assurance: Sealer['assurance']
  readonly #options: SealerOptions
  readonly #engine: TreeEngine
  readonly #rules: BatchRules
  readonly #pollIntervalMs: number
  readonly #authorities: AuthorityRules
  #running: Running | undefined
  /** Passes of the batch sealer, one after the other. */
  #passes: Promise<unknown> = Promise.resolve()
  /** Whether an event waits in a batch that will close by its time: then a notify has nothing to tell. */
  #isBatchOpen = false
  #sealed = { size: 0, at: null as number | null }
  #logSize = 0
  #closed: Promise<void> | undefined

  constructor(options: SealerOptions) {
    this.#options = options
    this.#authorities = authorityRules(options)
    this.#engine = options.engine ?? new PoolEngine()
    this.#rules = {
      maxLeaves: wholeNumber('maxLeaves', options.maxLeaves ?? 65_536, 1),
      maxWaitMs: wholeNumber('maxWaitMs', options.maxWaitMs ?? 5_000, 0),
    }
    this.#pollIntervalMs = wholeNumber('pollIntervalMs', options.pollIntervalMs ?? 1_000, 1)
    wholeNumber('leaseMs', options.leaseMs ?? 5_000, 1)
    wholeNumber('anchorIntervalMs', options.anchorIntervalMs ?? 0, 0)
    wholeNumber('tsaIntervalMs', options.tsaIntervalMs ?? 0, 0)
    wholeNumber('anchorPollIntervalMs', options.anchorPollIntervalMs ?? 1, 1)
    wholeNumber('anchorReplaceAfterMs', options.anchorReplaceAfterMs ?? 0, 0)
    this.assurance = { time: this.#authorities.assurance, anchor: options.anchor?.info.assurance ?? 'none' }
  }

  async start(host: SealerHost): Promise<void> {
    if (this.#running !== undefined || this.#closed !== undefined)
      throw new RegistryError('CLOSED', 'A sealer is started once: make another')
    const reader = new LogReader(host.records)
    const running = this.#assemble(host, reader)
    await running.batches.start()
    await this.#loadStatus(host, reader)
    this.#running = running
    for (const loop of [running.seal, ...running.stamps, running.anchor]) loop?.start()
  }

  notify(): void {
    if (!this.#isBatchOpen) this.#running?.seal.wake()
  }

  async sealNow(signal?: AbortSignal): Promise<void> {
    const running = this.#assertRunning()
    signal?.throwIfAborted()
    const sealing = this.#sealUpTo(running, await running.host.records.logSize())
    try {
      await (signal === undefined ? sealing : untilAborted(sealing, signal))
    } catch (error) {
      if (signal?.aborted !== true) running.seal.recordFailure(error)
      throw error
    } finally {
      // What came in meanwhile waits in a batch of its own, and the loop does not know of it yet.
      running.seal.wake()
    }
  }

  status(): SealerStatus {
    const { seal, stamps = [], anchor, rounds, anchorer } = this.#running ?? {}
    return {
      sealedSize: this.#sealed.size,
      logSize: this.#logSize,
      lastBatchAt: this.#sealed.at,
      stampedSize: rounds?.stampedSize ?? 0,
      anchoredSize: anchorer?.anchoredSize ?? 0,
      // Counted only for whoever looks: each create asks for the last batch's time.
      get failures() {
        return { seal: failuresOf([seal]), stamp: failuresOf(stamps), anchor: failuresOf([anchor]) }
      },
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const running = this.#running
    const loops = running === undefined ? [] : [running.seal, ...running.stamps, running.anchor]
    await Promise.all(loops.map(async (loop) => loop?.close()))
    await this.#passes
    await running?.lease?.release()
    await this.#engine.close()
    await running?.batches.close()
    const authorities = this.#authorities.members.map(({ authority }) => authority)
    await Promise.all([...authorities, this.#options.anchor].map(async (part) => part?.close()))
  }

  #assemble(host: SealerHost, reader: LogReader): Running {
    const { anchor, anchorIntervalMs = 0, tsaIntervalMs = 0, leaseMs = 5_000 } = this.#options
    const { members, quorum } = this.#authorities
    const { clock, logger, records, sharedRecords = false } = host
    const pollIntervalMs = this.#pollIntervalMs
    const batches = new BatchSealer(host, reader, this.#engine, createIdSource(clock), this.#rules)
    const rounds = new StampCoordinator(host, reader, quorum, { intervalMs: tsaIntervalMs, pollIntervalMs })
    const anchorer =
      anchor &&
      new Anchorer(host, reader, anchor, {
        intervalMs: anchorIntervalMs,
        pollIntervalMs: this.#options.anchorPollIntervalMs ?? pollIntervalMs,
        replaceAfterMs: this.#options.anchorReplaceAfterMs ?? ANCHOR_REPLACE_AFTER_MS,
      })
    const lease = sharedRecords ? new SealerLease(records, clock, leaseMs) : undefined
    const outside = { clock, logger, maxBackoffMs: MAX_OUTSIDE_BACKOFF_MS }
    const running: Running = {
      host,
      batches,
      rounds,
      anchorer,
      lease,
      seal: new Loop({
        name: 'seal',
        clock,
        logger,
        maxBackoffMs: MAX_SEAL_BACKOFF_MS,
        step: () => this.#sealStep(running),
      }),
      stamps: members.map(({ authority, trustAnchors }) => {
        const stamper = new Stamper(rounds, authority, trustAnchors)
        const fields = { authority: authority.info.name }
        return new Loop({
          ...outside,
          name: 'stamp',
          fields,
          step: (signal) => this.#stepWithLease(lease, stamper, signal),
        })
      }),
      anchor:
        anchorer &&
        new Loop({ ...outside, name: 'anchor', step: (signal) => this.#stepWithLease(lease, anchorer, signal) }),
    }
    return running
  }

  async #stepWithLease(lease: SealerLease | undefined, work: Stamper | Anchorer, signal: AbortSignal): Promise<number> {
    if (lease === undefined || (await lease.acquire())) return work.step(signal)
    await work.observe()
    return this.#pollIntervalMs
  }

  async #sealStep(running: Running): Promise<number> {
    if (running.lease !== undefined && !(await running.lease.acquire())) {
      await this.#observe(running)
      return this.#pollIntervalMs
    }
    const { dueInMs } = await this.#runPass(running)
    return dueInMs === null ? this.#pollIntervalMs : Math.min(dueInMs, FULLNESS_POLL_MS)
  }

  async #sealUpTo(running: Running, size: number): Promise<void> {
    for (;;) {
      const { head, dueInMs } = await this.#runPass(running, true)
      if (head.size >= size || dueInMs === null) return
    }
  }

  /** Another sealer works: what its work has come to, after the pass under way. */
  async #observe({ batches }: Running): Promise<void> {
    const observing = this.#passes.then(async () => {
      const { head, logSize } = await batches.observe()
      this.#sealed = { size: head.size, at: head.size === 0 ? null : head.time }
      this.#logSize = logSize
      // Its loop looks for itself: no notify has anything to tell.
      this.#isBatchOpen = true
      return head.size
    })
    this.#passes = observing.catch(() => {})
    await observing
  }

  /** One pass, after the one under way. */
  #runPass(running: Running, isForced = false): Promise<SealPass> {
    const pass = this.#passes.then(async () => {
      if (this.#closed !== undefined) throw new RegistryError('CLOSED', 'The sealer is closed')
      // From here on a notify is news again.
      this.#isBatchOpen = false
      const result = await running.batches.pass(isForced)
      const { head, logSize, dueInMs } = result
      const hasGrown = head.size > this.#sealed.size
      this.#sealed = { size: head.size, at: head.size === 0 ? null : head.time }
      this.#logSize = logSize
      this.#isBatchOpen = dueInMs !== null
      if (hasGrown) for (const loop of [...running.stamps, running.anchor]) loop?.wake()
      return result
    })
    this.#passes = pass.catch(() => {})
    return pass
  }

  async #loadStatus(host: SealerHost, reader: LogReader): Promise<void> {
    const head = await reader.treeHead()
    this.#sealed = { size: head.size, at: head.size === 0 ? null : head.time }
    this.#logSize = await host.records.logSize()
  }

  #assertRunning(): Running {
    if (this.#running === undefined || this.#closed !== undefined)
      throw new RegistryError('CLOSED', 'The sealer does not run')
    return this.#running
  }
}

/** Of loops that do the same step. */
function failuresOf(loops: readonly (Loop | undefined)[]): SealerStatus['failures']['seal'] {
  const all = loops.flatMap((loop) => (loop === undefined ? [] : [loop.failures]))
  const last = all.filter(({ count }) => count > 0).toSorted((a, b) => b.lastAt - a.lastAt)[0]
  return { count: all.reduce((sum, { count }) => sum + count, 0), lastCode: last?.lastCode ?? null }
}

function wholeNumber(name: string, value: number, least: number): number {
  if (!Number.isSafeInteger(value) || value < least)
    throw new RegistryError('CONFIG_ERROR', `${name} takes a whole number from ${least}, not ${value}`)
  return value
}
