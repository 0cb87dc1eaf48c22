import { RegistryError } from '../core/errors.ts'
import { createIdSource } from '../core/ids.ts'
import { LogReader } from '../core/log/reader.ts'
import { assertHoldsSigned } from '../core/log/signed-head.ts'
import type { Anchor, Sealer, SealerHost, SealerStatus, TimestampAuthority, TreeEngine } from '../core/ports.ts'
import { untilAborted } from './aborted.ts'
import { Anchorer } from './anchor.ts'
import { PoolEngine } from './engine/pool.ts'
import { Loop } from './loop.ts'
import { BatchSealer, type BatchRules, type SealPass } from './seal.ts'
import { Stamper } from './stamp.ts'

export { InlineEngine } from './engine/inline.ts'
export { batchProofs, type BatchProofsRequest, type BatchProofs } from './batch-proofs.ts'
export { PoolEngine, type PoolOptions } from './engine/pool.ts'

/** The sealer owns what it is given here, and closes it. */
export interface SealerOptions {
  /** Default: a pool of worker threads, which start when a batch is first large enough. */
  readonly engine?: TreeEngine
  readonly timestampAuthority?: TimestampAuthority
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
}

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
  readonly stamper: Stamper | undefined
  readonly anchorer: Anchorer | undefined
  readonly seal: Loop
  readonly stamp: Loop | undefined
  readonly anchor: Loop | undefined
}

/**
 * Three loops that do not wait for each other: batches and checkpoints, stamps, anchors. Each step begins from what is stored, so
 * recovery after a crash is the loop itself.
 */
class LogSealer implements Sealer {
  readonly assurance: Sealer['assurance']
  readonly #options: SealerOptions
  readonly #engine: TreeEngine
  readonly #rules: BatchRules
  readonly #pollIntervalMs: number
  #running: Running | undefined
  /** Passes of the batch sealer, one after the other. */
  #passes: Promise<unknown> = Promise.resolve()
  /** Whether an event waits in a batch that will close by its time: then a notify has nothing to tell. */
  #isBatchOpen = false
  #sealed = { size: 0, at: null as number | null }
  #logSize = 0
  #closed: Promise<void> | undefined

  constructor(options: SealerOptions) {
    const { timestampAuthority, anchor } = options
    this.#options = options
    this.#engine = options.engine ?? new PoolEngine()
    this.#rules = {
      maxLeaves: wholeNumber('maxLeaves', options.maxLeaves ?? 65_536, 1),
      maxWaitMs: wholeNumber('maxWaitMs', options.maxWaitMs ?? 5_000, 0),
    }
    this.#pollIntervalMs = wholeNumber('pollIntervalMs', options.pollIntervalMs ?? 1_000, 1)
    wholeNumber('anchorIntervalMs', options.anchorIntervalMs ?? 0, 0)
    wholeNumber('tsaIntervalMs', options.tsaIntervalMs ?? 0, 0)
    this.assurance = { time: timestampAuthority?.info.assurance ?? 'none', anchor: anchor?.info.assurance ?? 'none' }
  }

  async start(host: SealerHost): Promise<void> {
    if (this.#running !== undefined || this.#closed !== undefined)
      throw new RegistryError('CLOSED', 'A sealer is started once: make another')
    const reader = new LogReader(host.records)
    await assertHoldsSigned(host.records, reader, await host.signedHead.read())
    const running = this.#assemble(host, reader)
    await running.batches.signHead()
    await this.#noteState(host, reader)
    this.#running = running
    for (const loop of [running.seal, running.stamp, running.anchor]) loop?.start()
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
      if (signal?.aborted !== true) running.seal.noteFailure(error)
      throw error
    } finally {
      // What came in meanwhile waits in a batch of its own, and the loop does not know of it yet.
      running.seal.wake()
    }
  }

  status(): SealerStatus {
    const { seal, stamp, anchor, stamper, anchorer } = this.#running ?? {}
    const none = { count: 0, lastCode: null }
    return {
      sealedSize: this.#sealed.size,
      logSize: this.#logSize,
      lastBatchAt: this.#sealed.at,
      stampedSize: stamper?.stampedSize ?? 0,
      anchoredSize: anchorer?.anchoredSize ?? 0,
      failures: { seal: seal?.failures ?? none, stamp: stamp?.failures ?? none, anchor: anchor?.failures ?? none },
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const running = this.#running
    await Promise.all([running?.seal.close(), running?.stamp?.close(), running?.anchor?.close()])
    await this.#passes
    await this.#engine.close()
    await running?.batches.close()
    await Promise.all([this.#options.timestampAuthority?.close(), this.#options.anchor?.close()])
  }

  #assemble(host: SealerHost, reader: LogReader): Running {
    const { timestampAuthority, anchor, anchorIntervalMs = 0, tsaIntervalMs = 0 } = this.#options
    const { clock, logger } = host
    const pollIntervalMs = this.#pollIntervalMs
    const batches = new BatchSealer(host, reader, this.#engine, createIdSource(clock), this.#rules)
    const stamper =
      timestampAuthority && new Stamper(host, reader, timestampAuthority, { intervalMs: tsaIntervalMs, pollIntervalMs })
    const anchorer = anchor && new Anchorer(host, reader, anchor, { intervalMs: anchorIntervalMs, pollIntervalMs })
    const outside = { clock, logger, maxBackoffMs: MAX_OUTSIDE_BACKOFF_MS }
    const running: Running = {
      host,
      batches,
      stamper,
      anchorer,
      seal: new Loop({
        name: 'seal',
        clock,
        logger,
        maxBackoffMs: MAX_SEAL_BACKOFF_MS,
        step: () => this.#sealStep(running),
      }),
      stamp: stamper && new Loop({ ...outside, name: 'stamp', step: (signal) => stamper.step(signal) }),
      anchor: anchorer && new Loop({ ...outside, name: 'anchor', step: (signal) => anchorer.step(signal) }),
    }
    return running
  }

  async #sealStep(running: Running): Promise<number> {
    const { dueInMs } = await this.#pass(running)
    return dueInMs === null ? this.#pollIntervalMs : Math.min(dueInMs, FULLNESS_POLL_MS)
  }

  async #sealUpTo(running: Running, size: number): Promise<void> {
    for (;;) {
      const { head, dueInMs } = await this.#pass(running, true)
      if (head.size >= size || dueInMs === null) return
    }
  }

  /** One pass, after the one under way. */
  #pass(running: Running, isForced = false): Promise<SealPass> {
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
      if (hasGrown) for (const loop of [running.stamp, running.anchor]) loop?.wake()
      return result
    })
    this.#passes = pass.catch(() => {})
    return pass
  }

  async #noteState(host: SealerHost, reader: LogReader): Promise<void> {
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

function wholeNumber(name: string, value: number, least: number): number {
  if (!Number.isSafeInteger(value) || value < least)
    throw new RegistryError('CONFIG_ERROR', `${name} takes a whole number from ${least}, not ${value}`)
  return value
}
