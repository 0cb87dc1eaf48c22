import { failuresOf, type Background } from '../core/background.ts'
import { untilAborted } from '../core/clock.ts'
import { RegistryError } from '../core/errors.ts'
import { createIdSource } from '../core/ids.ts'
import { LogReader } from '../core/log/reader.ts'
import { rulesOf } from '../core/log/attestation-rules.ts'
import type { Anchor, Sealer, SealerHost, SealerStatus, TreeEngine } from '../core/ports/index.ts'
import { withAnchorErrors } from '../core/store/decorate.ts'
import { AccountAlarm } from './account-alarm.ts'
import { Anchorer } from './anchorer.ts'
import { authorityRules, labelOf, type AuthorityRules } from './authorities.ts'
import { BatchSealer, type SealStep } from './batch-sealer.ts'
import { Cosigner } from './cosigner.ts'
import { PoolEngine } from './engine/engines.ts'
import { SealerLease } from './lease.ts'
import { Overdue } from './overdue.ts'
import { backoffUpTo, FIRST_BACKOFF_MS, loopOf } from './schedule.ts'
import { sealerSettings, type SealerOptions, type SealerSettings } from './settings.ts'
import { StampCoordinator, Stamper } from './stamper.ts'
import { noteUnwitnessed } from './witness-state.ts'

/** The longest pause after failures: minutes for outside services, seconds for the registry's own store. */
const MAX_OUTSIDE_BACKOFF_MS = 120_000
const MAX_SEAL_BACKOFF_MS = 5_000
/**
 * How often an open batch is checked for its size, and shared records for events of other processes, which costs an
 * idle database two look-ups by key. The due time of a batch is kept to the millisecond.
 */
const BATCH_POLL_MS = 250

/**
 * Creates a sealer for `openRegistry`. It seals batches, signs checkpoints and, if they are given, has authorities
 * stamp them and a chain anchor them. Nothing runs before `openRegistry` starts it. A sealer cannot be started twice.
 *
 * @throws `CONFIG_ERROR` if a number is out of range, or if the authorities are not distinct.
 * @example
 * const sealer = createSealer({ timestampAuthority: await openLocalTsa('./tsa'), maxWaitMs: 1_000 })
 */
export function createSealer(options: SealerOptions = {}): Sealer {
  return new LogSealer(options)
}

interface Running {
  readonly host: SealerHost
  readonly batches: BatchSealer
  readonly stampCoordinator: StampCoordinator
  readonly anchorer: Anchorer | undefined
  readonly cosigner: Cosigner | undefined
  readonly accountAlarm: AccountAlarm | undefined
  /** Set if other processes seal the same records. */
  readonly lease: SealerLease | undefined
  readonly seal: Background
  /** One for each authority. */
  readonly stamps: readonly Background[]
  readonly anchor: Background | undefined
  readonly cosign: Background | undefined
  readonly overdue: readonly Overdue[]
}

/**
 * Runs independent loops: one for batches and checkpoints, one for each authority, one for anchors, one for witnesses.
 * Each step starts from stored state, so recovery after a crash is the normal loop.
 */
class LogSealer implements Sealer {
  readonly assurance: Sealer['assurance']
  readonly trust: Sealer['trust']
  readonly #engine: TreeEngine
  readonly #authorities: AuthorityRules
  readonly #anchor: Anchor | undefined
  readonly #settings: SealerSettings
  #running: Running | undefined
  /** The steps of the batch sealer run one after the other, so that they need no locks. */
  #lastStep: Promise<unknown> = Promise.resolve()
  /**
   * Whether only `notify` ends the sleep of the seal loop in time. False if the open batch has a due time, or if
   * another process seals and this one polls.
   */
  #needsNotice = true
  // Set by steps of the batch sealer only. The status shows them as they were after the last step.
  #sealed: { readonly size: number; readonly at: number | null } = { size: 0, at: null }
  #logSize = 0
  #unsealedEvents = 0
  #closed: Promise<void> | undefined

  constructor(options: SealerOptions) {
    this.#authorities = authorityRules(options)
    this.#settings = sealerSettings(options)
    this.#anchor = options.anchor && withAnchorErrors(options.anchor)
    this.#engine = options.engine ?? new PoolEngine()
    this.assurance = { time: this.#authorities.assurance, anchor: options.anchor?.info.assurance ?? 'none' }
    const { members, quorum } = this.#authorities
    const { witnesses } = this.#settings
    this.trust = {
      quorum: members.length === 0 ? 0 : quorum,
      authorities: members.map(({ authority }) => authority.info),
      chain: options.anchor?.info,
      ...(witnesses && { witnesses: { ...witnesses.policy, submissionKey: witnesses.submissionKey.publicKey } }),
    }
  }

  async start(host: SealerHost): Promise<void> {
    if (this.#running !== undefined || this.#closed !== undefined)
      throw new RegistryError('CLOSED', 'A sealer can be started only once: create another')
    const reader = new LogReader(host.records, { hasWitnesses: this.#settings.witnesses !== undefined })
    const running = this.#assemble(host, reader)
    await running.batches.start()
    if (this.#settings.witnesses === undefined) await noteUnwitnessed(host.records)
    const logSize = await host.records.logSize()
    this.#noteState({ head: await reader.tree.head(), logSize, unsealedEvents: 0 })
    this.#running = running
    for (const loop of loopsOf(running)) loop.request()
    for (const watch of running.overdue) watch.start()
  }

  notify(): void {
    if (this.#needsNotice) this.#running?.seal.wake()
  }

  async sealNow(signal?: AbortSignal): Promise<void> {
    const running = this.#assertRunning()
    signal?.throwIfAborted()
    const sealing = this.#sealUpTo(running, await running.host.records.logSize())
    try {
      await untilAborted(sealing, signal)
    } catch (error) {
      if (signal?.aborted !== true) running.seal.recordFailure(error)
      throw error
    } finally {
      // Entries that arrived meanwhile are in an open batch, which the loop does not know of yet.
      running.seal.wake()
    }
  }

  get lastBatchAt(): number | null {
    return this.#sealed.at
  }

  get sealedSize(): number {
    return this.#sealed.size
  }

  get isSetBack(): boolean {
    return this.#running?.seal.currentCode === 'LOG_BEHIND_SIGNED'
  }

  status(): SealerStatus {
    const {
      seal,
      stamps = [],
      anchor,
      cosign,
      stampCoordinator,
      anchorer,
      cosigner,
      accountAlarm,
      overdue = [],
    } = this.#running ?? {}
    const witnesses = cosigner?.status ?? []
    const { count, isFailing } = this.#engine.failures ?? { count: 0, isFailing: false }
    const engine = { count, lastCode: count > 0 ? 'ENGINE_FAILED' : null }
    const failing = [seal, ...stamps, anchor, cosign].flatMap((loop) => loop?.currentCode ?? [])
    const alarms = [...overdue.map(({ code }) => code), ...witnesses.map(({ alarm }) => alarm)]
    const codes = [...failing, ...alarms.flatMap((code) => code ?? [])]
    return {
      sealedSize: this.sealedSize,
      logSize: this.#logSize,
      unsealedEvents: this.#unsealedEvents,
      lastBatchAt: this.lastBatchAt,
      stampedSize: stampCoordinator?.stampedSize ?? 0,
      anchoredSize: anchorer?.anchoredSize ?? 0,
      oldestUnanchoredAt: anchorer?.oldestUnanchoredAt ?? null,
      hasAccountConflict: accountAlarm?.isRaised ?? false,
      failures: { seal: failuresOf([seal]), stamp: failuresOf(stamps), anchor: failuresOf([anchor]), engine },
      currentFailures: isFailing ? [...codes, 'ENGINE_FAILED'] : codes,
      witnesses,
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const running = this.#running
    if (running !== undefined) await Promise.all([...loopsOf(running), ...running.overdue].map((each) => each.stop()))
    await this.#lastStep
    // Else the other sealers would not learn of the tree that is lost.
    if (!this.isSetBack) await running?.lease?.release()
    await this.#engine.close()
    await running?.batches.close()
    const authorities = this.#authorities.members.map(({ authority }) => authority)
    await Promise.all([...authorities, this.#anchor].map(async (part) => part?.close()))
  }

  #assemble(host: SealerHost, reader: LogReader): Running {
    const { clock, logger, records } = host
    const { batches: rules, stamps: stampSchedule, anchors, witnesses, leaseMs, onDuration } = this.#settings
    const { members } = this.#authorities
    const anchor = this.#anchor
    const ids = createIdSource(clock)
    const batches = new BatchSealer({ host, reader, engine: this.#engine, ids, rules, onDuration })
    const stampCoordinator = new StampCoordinator({ host, reader, rules: rulesOf(this.trust), schedule: stampSchedule })
    const cosigner =
      witnesses &&
      new Cosigner({ host, reader, witnesses, onForkedTree: (tree) => this.#afterLastStep(() => batches.refuse(tree)) })
    const anchorer = anchor && new Anchorer({ host, reader, anchor, schedule: anchors, onDuration })
    const accountAlarm = anchor && new AccountAlarm({ anchor, records, logger })
    const lease = records.isShared
      ? new SealerLease(records, clock, leaseMs, { signedHead: host.signedHead, tree: reader.tree })
      : undefined
    const outsideLoop = (step: 'stamp' | 'anchor', work: OutsideWork, fields: object = {}): Background =>
      loopOf(host, {
        step,
        fields,
        run: (signal) => this.#stepWithLease(lease, work, signal),
        retryMs: backoffUpTo(MAX_OUTSIDE_BACKOFF_MS),
      })
    const running: Running = {
      host,
      batches,
      stampCoordinator,
      anchorer,
      cosigner,
      accountAlarm,
      lease,
      seal: loopOf(host, {
        step: 'seal',
        run: () => this.#sealStep(running),
        retryMs: backoffUpTo(MAX_SEAL_BACKOFF_MS),
      }),
      stamps: members.map(({ authority, trustAnchors }) =>
        outsideLoop('stamp', new Stamper({ coordinator: stampCoordinator, authority, trustAnchors, onDuration }), {
          authority: labelOf(authority),
        }),
      ),
      anchor: anchorer && accountAlarm && outsideLoop('anchor', withAlarm(anchorer, accountAlarm)),
      cosign:
        cosigner &&
        loopOf(host, {
          step: 'cosign',
          run: (signal) => this.#stepWithLease(lease, cosigner, signal),
          retryMs: () => Math.max(cosigner.dueInMs, FIRST_BACKOFF_MS),
        }),
      overdue: this.#watchesOf({ host, reader, stampCoordinator, anchorer, lease }),
    }
    return running
  }

  /** What notices that no stamps or anchors are made. */
  #watchesOf(
    parts: Pick<Running, 'host' | 'stampCoordinator' | 'anchorer' | 'lease'> & { readonly reader: LogReader },
  ): Overdue[] {
    const { host, reader, stampCoordinator, anchorer, lease } = parts
    const { stamps, anchors } = this.#settings
    const watched = { ...host, reader, sealedSize: () => this.#sealed.size }
    const stamp = new Overdue({ ...watched, ...stamps, step: 'stamp', coveredSize: () => stampCoordinator.stampedSize })
    const anchor =
      anchorer &&
      new Overdue({
        ...watched,
        ...anchors,
        step: 'anchor',
        // Only the sealer with the lease polls the chain, and sees that an anchor gets nearer to its confirmation.
        sealedSize: () => (lease?.isHeld === false ? 0 : this.#sealed.size),
        coveredSize: () => anchorer.anchoredSize,
        confirmations: () => anchorer.confirmations,
      })
    return [...(this.#authorities.members.length > 0 ? [stamp] : []), ...(anchor === undefined ? [] : [anchor])]
  }

  async #stepWithLease(lease: SealerLease | undefined, work: OutsideWork, signal: AbortSignal): Promise<number> {
    if (lease === undefined || (await lease.acquire())) return work.step(signal)
    await work.observe()
    return this.#settings.pollIntervalMs
  }

  async #sealStep(running: Running): Promise<number> {
    const { pollIntervalMs } = this.#settings
    if (running.lease !== undefined && !(await running.lease.acquire())) {
      await this.#observe(running)
      return pollIntervalMs
    }
    const { dueInMs } = await this.#runBatchStep(running).catch((error: unknown) => {
      // Another process may have the key or the space on its disk that this one lacks.
      running.lease?.noteStep(true)
      throw error
    })
    running.lease?.noteStep(false)
    if (dueInMs === null && running.lease === undefined) return pollIntervalMs
    return Math.min(dueInMs ?? pollIntervalMs, BATCH_POLL_MS)
  }

  async #sealUpTo(running: Running, size: number): Promise<void> {
    for (;;) {
      const { head, dueInMs } = await this.#runBatchStep(running, true)
      if (head.size >= size || dueInMs === null) return
    }
  }

  /** Another process seals: only reads what it has sealed. */
  #observe({ batches }: Running): Promise<void> {
    return this.#afterLastStep(async () => {
      this.#noteState(await batches.observe())
      this.#needsNotice = false
    })
  }

  #runBatchStep(running: Running, isForced = false): Promise<SealStep> {
    return this.#afterLastStep(async () => {
      if (this.#closed !== undefined) throw new RegistryError('CLOSED', 'The sealer is closed')
      // A `notify` from now on is about entries that this step may not see.
      this.#needsNotice = true
      const result = await running.batches.step(isForced)
      const hasGrown = result.head.size > this.#sealed.size
      this.#noteState(result)
      this.#needsNotice = result.dueInMs === null
      // In the next turn: who waits for the batch goes on first, because a stamp may load the libraries for ASN.1.
      if (hasGrown) setImmediate(() => [...running.stamps, running.anchor].forEach((loop) => loop?.wake()))
      return result
    })
  }

  #afterLastStep<T>(work: () => Promise<T>): Promise<T> {
    const step = this.#lastStep.then(work)
    this.#lastStep = step.catch(() => {})
    return step
  }

  #noteState({ head, logSize, unsealedEvents }: Omit<SealStep, 'dueInMs'>): void {
    this.#unsealedEvents = unsealedEvents
    this.#sealed = { size: head.size, at: head.size === 0 ? null : head.time }
    this.#logSize = logSize
  }

  #assertRunning(): Running {
    if (this.#running === undefined || this.#closed !== undefined)
      throw new RegistryError('CLOSED', 'The sealer is not running')
    return this.#running
  }
}

/** The work of a stamper or an anchorer. */
interface OutsideWork {
  step(signal: AbortSignal): Promise<number>
  /** Changes nothing: another process has the lease. */
  observe(): Promise<unknown>
}

/** Anchors, whatever the alarm says. */
const withAlarm = (anchorer: Anchorer, alarm: AccountAlarm): OutsideWork => ({
  async step(signal) {
    await alarm.check(signal)
    return anchorer.step(signal)
  },
  observe: () => anchorer.observe(),
})

const loopsOf = ({ seal, stamps, anchor, cosign }: Running): readonly Background[] =>
  [seal, ...stamps, anchor, cosign].filter((loop) => loop !== undefined)
