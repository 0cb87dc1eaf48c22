import { toHex } from '../core/bytes.ts'
import { DueTime } from '../core/clock.ts'
import type { IdSource } from '../core/ids.ts'
import { logKeys } from '../core/log/keys.ts'
import type { LogReader } from '../core/log/reader.ts'
import type { BatchRecord, TreeHeadRecord } from '../core/log/records.ts'
import { emptyRoot } from '../core/log/tree/hash.ts'
import type { SealerHost, SignedHead, TreeEngine, Version } from '../core/ports/index.ts'
import { batchEntries } from '../core/store/derived.ts'
import { decodeRecord } from '../core/store/codec.ts'
import { putRecord } from '../core/store/entries.ts'
import { readAll } from '../core/store/read.ts'
import { Integrator, type Integration } from './integrator.ts'
import type { BatchRules, DurationObserver } from './schedule.ts'

/** The tree's head, and the version that a commit checks. */
interface Head {
  readonly record: TreeHeadRecord
  readonly version: Version | null
}

/** The state after a step. */
export interface SealStep {
  readonly head: TreeHeadRecord
  /** Entries in the log. */
  readonly logSize: number
  /** Entries that wait for a batch, from the first that opens one on. */
  readonly unsealedEvents: number
  /** ms until the open batch closes. 0 if there may be more to seal now, `null` if nothing waits. */
  readonly dueInMs: number | null
}

interface BatchSealerOptions {
  readonly onDuration: DurationObserver | undefined
  readonly host: SealerHost
  readonly reader: LogReader
  readonly engine: TreeEngine
  /** Ids for batches. */
  readonly ids: IdSource
  readonly rules: BatchRules
}

/**
 * Seals the log in batches and signs their checkpoints. Two steps must not run at the same time.
 *
 * Each step starts from stored state, so a step after a crash or after another sealer's batch is like any other. A
 * batch is durable in three writes. What a crash leaves, and how the next step goes on:
 *
 *     before 1   nothing: the same entries are hashed again, perhaps with later ones
 *     1  commitBatch       tiles, batch and head, in one commit: a batch without a checkpoint, which is signed next
 *     2  signedHead.write  size and root, outside the store: the same again, but a store that is set back is refused
 *     3  storeCheckpoint   the signed note: the batch is complete
 *
 * Nothing is signed before 2. So if a signature got out and the process died before 3, the log does not forget that
 * tree: the next step signs the same checkpoint.
 */
export class BatchSealer {
  readonly #host: SealerHost
  readonly #reader: LogReader
  readonly #ids: IdSource
  readonly #rules: BatchRules
  readonly #onDuration: DurationObserver | undefined
  // Only the running step uses what follows. All of it can be lost: the next step reads or computes it again.
  readonly #integrator: Integrator
  /** The largest size whose checkpoint is known to be stored. */
  #signedSize = 0
  /** When the last batch closed, ms since 1970. Before the first one, the start. */
  #closedAt: number
  readonly #next = new DueTime()

  constructor({ host, reader, engine, ids, rules, onDuration }: BatchSealerOptions) {
    this.#onDuration = onDuration
    this.#host = host
    this.#reader = reader
    this.#ids = ids
    this.#rules = rules
    this.#closedAt = host.clock.now()
    this.#integrator = new Integrator(host, engine)
  }

  /**
   * Checks that the store still holds what was signed, then signs and stores the checkpoint of the newest batch if it
   * has none. Throws as `step`.
   */
  async start(): Promise<void> {
    await this.#reader.tree.assertHolds(await this.#host.signedHead.read())
    await this.#signIfUnsigned()
  }

  /**
   * Signs the newest batch if it is not signed yet, then closes the open batch if it is due, with `isForced` at any
   * time. Tokens alone are not sealed.
   *
   * Throws `CORRUPT` and `LOG_BEHIND_SIGNED` if the store does not hold what was signed.
   */
  async step(isForced = false): Promise<SealStep> {
    const head = await this.#signIfUnsigned()
    const { size } = head.record
    const logSize = await this.#host.records.logSize()
    const unsealedEvents = await this.#unsealedEvents(size, logSize)
    const dueInMs = this.#dueInMs(unsealedEvents)
    const isDue = isForced || (dueInMs !== null && dueInMs <= 0) || logSize - size >= this.#rules.maxLeaves
    if (dueInMs === null || !isDue) return { head: head.record, logSize, unsealedEvents, dueInMs }
    this.#closedAt = this.#host.clock.now()
    await this.#seal(head, Math.min(logSize, size + this.#rules.maxLeaves), logSize)
    const sealed = (await this.#signIfUnsigned()).record
    return { head: sealed, logSize, unsealedEvents: await this.#unsealedEvents(sealed.size, logSize), dueInMs: 0 }
  }

  /** Reads what another sealer has sealed, and remembers it as signed if it is. Seals nothing. */
  async observe(): Promise<Omit<SealStep, 'dueInMs'>> {
    const { record } = await this.#head()
    const isSigned = record.size > 0 && (await this.#reader.checkpoints.ofSize(record.size)) !== undefined
    const head = isSigned ? (await this.#signIfUnsigned()).record : record
    const logSize = await this.#host.records.logSize()
    return { head, logSize, unsealedEvents: await this.#unsealedEvents(head.size, logSize) }
  }

  /**
   * Makes a tree that is not the beginning of this log the signed head. So every step and every later start finds that
   * the store does not hold what was signed, and signs nothing. Requires that no step is running.
   */
  async refuse(forked: SignedHead): Promise<void> {
    await this.#host.signedHead.write(forked)
    this.#signedSize = 0
  }

  /** Waits until nothing reads the store any more. Requires that no step is running. */
  close(): Promise<void> {
    return this.#integrator.close()
  }

  /** Hashes and commits one batch. */
  async #seal(head: Head, end: number, logSize: number): Promise<void> {
    const { logger } = this.#host
    const startedAt = performance.now()
    const integration = await this.#integrator.integrate(head.record, end)
    if (end + this.#rules.maxLeaves <= logSize) this.#integrator.precompute(end, end + this.#rules.maxLeaves)
    const batch = await this.#commitBatch(head, end, integration)
    if (batch === undefined)
      return logger.debug({ start: head.record.size, end }, 'another sealer sealed these entries')
    const ms = performance.now() - startedAt
    this.#onDuration?.('seal', ms)
    const { id: batchId, start, root } = batch
    logger.info({ batchId, start, end, root, ms: Math.round(ms) }, 'batch sealed')
  }

  /** 1: tiles, batch and head in one commit. If another sealer changed the head, nothing is written. */
  async #commitBatch({ record: head, version }: Head, end: number, { root, tiles }: Integration) {
    const createdAt = Math.max(this.#host.clock.now(), head.time)
    const batch: BatchRecord = {
      id: this.#ids.next(),
      start: head.size,
      end,
      root: toHex(root),
      createdAt,
      previous: head.batchId,
    }
    const { ok } = await this.#host.records.commit({
      checks: [{ key: logKeys.treeHead(), version }],
      writes: [
        ...Array.from(tiles, ([key, value]) => ({ key, value })),
        putRecord(logKeys.batch(end), batch),
        ...batchEntries(batch),
        putRecord(logKeys.treeHead(), { size: end, root: batch.root, batchId: batch.id, time: createdAt }),
      ],
    })
    return ok ? batch : undefined
  }

  /**
   * Returns the tree's head once its checkpoint is signed and stored. Batches are only added to such a head, so no
   * batch is left without its checkpoint. If another sealer stored the checkpoint, only 2 is done here.
   */
  async #signIfUnsigned(): Promise<Head> {
    const { signedHead, identity } = this.#host
    const seen = await this.#head()
    if (seen.record.size === this.#signedSize) return seen
    // The signed head is read before the tree's head. In the other order, another sealer's batch in between would look
    // like a tree that was set back.
    const signed = await signedHead.read()
    const head = await this.#head()
    const { size } = head.record
    const isStored = (await this.#reader.checkpoints.ofSize(size)) !== undefined
    if (!isStored || signed?.size !== size || toHex(signed.root) !== head.record.root) {
      const root = await this.#reader.tree.rootHolding(head.record, signed)
      await identity.refresh()
      // 2: before any signature exists.
      if (signed?.size !== size) await signedHead.write({ size, root })
      if (!isStored) await this.#storeCheckpoint(head.record, await identity.signCheckpoint(size, root))
    }
    this.#signedSize = size
    return head
  }

  /** 3: on a conflict another sealer stored the checkpoint of the same tree. */
  async #storeCheckpoint({ size, root }: TreeHeadRecord, note: string): Promise<void> {
    const { records, logger } = this.#host
    const key = logKeys.checkpoint(size)
    await records.commit({ checks: [{ key, version: null }], writes: [putRecord(key, { size, root, note })] })
    logger.info({ size, root }, 'checkpoint signed')
  }

  async #head(): Promise<Head> {
    const [entry] = await readAll(this.#host.records, [logKeys.treeHead()])
    return {
      record: decodeRecord(entry) ?? { size: 0, root: toHex(emptyRoot()), batchId: null, time: 0 },
      version: entry?.version ?? null,
    }
  }

  /** ms until the open batch closes, `null` if nothing waits. After a pause it closes at once. */
  #dueInMs(unsealedEvents: number): number | null {
    // Also if nothing waits, so that a clock that is set back meanwhile keeps no batch open for longer.
    const dueInMs = this.#next.msUntil(this.#closedAt, this.#rules.maxWaitMs, this.#host.clock.now())
    return unsealedEvents === 0 ? null : dueInMs
  }

  /** How many entries from `size` on wait for a batch, counted from the first that opens one. 0 if none does. */
  async #unsealedEvents(size: number, logSize: number): Promise<number> {
    const first = await this.#reader.firstToSeal(size, logSize)
    return first === undefined ? 0 : logSize - first
  }
}
