import { fromHex, toHex } from '../core/bytes.ts'
import { isRegistryError } from '../core/errors.ts'
import type { IdSource } from '../core/ids.ts'
import { logKeys } from '../core/log/keys.ts'
import { isControlPayload } from '../core/log/payload.ts'
import type { LogReader } from '../core/log/reader.ts'
import type { BatchRecord, CheckpointRecord, TreeHeadRecord } from '../core/log/records.ts'
import { assertHoldsSigned, assertTreeHoldsSigned } from '../core/log/signed-head.ts'
import { StoredTiles } from '../core/log/tiles.ts'
import { emptyRoot } from '../core/log/tree/hasher.ts'
import type { SealerHost, SignedHead, TreeEngine, Version } from '../core/ports/index.ts'
import { batchEntries } from '../core/store/derived.ts'
import { decodeRecord, putRecord, readAll } from '../core/store/read.ts'
import { InlineEngine } from './engine/inline.ts'
import type { DurationObserver } from './schedule.ts'
import { integrationStart, integrate, type Integration } from './integrate.ts'

/** When a batch closes. */
export interface BatchRules {
  /** The most entries of a batch. */
  readonly maxLeaves: number
  /** The highest age of its oldest event, ms, counted from when the sealer first saw it. */
  readonly maxWaitMs: number
}

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
  /** Entries that wait for a batch, from the first event on. */
  readonly unsealedEvents: number
  /** ms until the open batch closes. 0 if there may be more to seal now, `null` if no event waits. */
  readonly dueInMs: number | null
}

/** Leaf tiles that are hashed before their batch starts. */
interface PrecomputedTiles {
  readonly oldSize: number
  readonly newSize: number
  readonly tiles: Promise<readonly Uint8Array[]>
}

/** Integrating reads the tiles of the tree's right edge each time, two per level. */
const CACHED_TILES = 16
/** Entries that are read together in the search for an event. */
const SCAN_ENTRIES = 16

interface BatchSealerOptions {
  readonly onDuration: DurationObserver
  readonly host: SealerHost
  readonly reader: LogReader
  readonly engine: TreeEngine
  /** Ids for batches. */
  readonly ids: IdSource
  readonly rules: BatchRules
}

/**
 * Seals the log in batches and signs their checkpoints. Each step starts from stored state, so a step after a crash or
 * after another sealer's batch is like any other. Two steps must not run at the same time.
 */
export class BatchSealer {
  readonly #host: SealerHost
  readonly #reader: LogReader
  readonly #engine: TreeEngine
  readonly #ids: IdSource
  readonly #rules: BatchRules
  readonly #stored: StoredTiles
  readonly #onDuration: DurationObserver
  readonly #inline = new InlineEngine()
  /** The largest size whose checkpoint is known to be stored. */
  #signedSize = 0
  /** No unsealed entry before this log index is an event. */
  #noEventBeforeIndex = 0
  /** When the oldest event of the open batch was first seen, ms since 1970. */
  #batchOpenedAt: number | null = null
  /** The leaf tiles of a backlog's next batch. */
  #precomputed: PrecomputedTiles | undefined

  constructor({ host, reader, engine, ids, rules, onDuration }: BatchSealerOptions) {
    this.#onDuration = onDuration
    this.#host = host
    this.#reader = reader
    this.#engine = engine
    this.#ids = ids
    this.#rules = rules
    this.#stored = new StoredTiles(host.records, CACHED_TILES)
  }

  /**
   * Signs the newest batch if it is not signed yet, then closes the open batch if it is due. With `isForced` the open
   * batch is closed at any age. A batch without any event is not sealed.
   *
   * Throws `CORRUPT` and `LOG_BEHIND_SIGNED` if the store does not hold what was signed.
   */
  async step(isForced = false): Promise<SealStep> {
    const head = await this.#signedHead()
    const logSize = await this.#host.records.logSize()
    const { size } = head.record
    if (!(await this.#hasEvent(size, logSize))) {
      this.#batchOpenedAt = null
      return { head: head.record, logSize, unsealedEvents: 0, dueInMs: null }
    }
    const unsealedEvents = this.#unsealedFrom(size, logSize)
    const now = this.#host.clock.now()
    // A clock that was set back must not keep a batch open for longer than maxWait.
    this.#batchOpenedAt = Math.min(this.#batchOpenedAt ?? now, now)
    const dueInMs = this.#batchOpenedAt + this.#rules.maxWaitMs - now
    if (!isForced && dueInMs > 0 && logSize - size < this.#rules.maxLeaves)
      return { head: head.record, logSize, unsealedEvents, dueInMs }
    await this.#sealBatch(head, Math.min(logSize, size + this.#rules.maxLeaves), logSize)
    this.#batchOpenedAt = null
    const sealed = (await this.#signedHead()).record
    return { head: sealed, logSize, unsealedEvents: this.#unsealedFrom(sealed.size, logSize), dueInMs: 0 }
  }

  /** Reads what another sealer has sealed, and remembers it as signed if it is. Seals nothing. */
  async observe(): Promise<Omit<SealStep, 'dueInMs'>> {
    const { record } = await this.#head()
    const isSigned = record.size > 0 && (await this.#reader.checkpoint(record.size)) !== undefined
    const head = isSigned ? (await this.#signedHead()).record : record
    const logSize = await this.#host.records.logSize()
    const hasEvent = await this.#hasEvent(head.size, logSize)
    return { head, logSize, unsealedEvents: hasEvent ? this.#unsealedFrom(head.size, logSize) : 0 }
  }

  /** Waits for the precomputed tiles, so that nothing reads the store afterwards. Requires that no step is running. */
  async close(): Promise<void> {
    await this.#precomputed?.tiles.catch(() => {})
    this.#precomputed = undefined
  }

  /**
   * Checks that the store still holds what was signed, then signs and stores the checkpoint of the newest batch if it
   * has none. Throws as `step`.
   */
  async start(): Promise<void> {
    const { records, signedHead } = this.#host
    await assertHoldsSigned(records, this.#reader, await signedHead.read())
    await this.#signedHead()
  }

  /**
   * Returns the tree's head after its checkpoint is signed and stored. Batches are only added to such a head, so no
   * batch is left without its checkpoint. The signed head is durable before the checkpoint is stored, so a store that
   * was set back is always detected (`LOG_BEHIND_SIGNED`).
   */
  async #signedHead(): Promise<Head> {
    const seen = await this.#head()
    if (seen.record.size === this.#signedSize) return seen
    // The signed head is read before the tree's head. In the other order, another sealer's batch in between would look
    // like a tree that was set back.
    const signed = await this.#host.signedHead.read()
    const head = await this.#head()
    await this.#sign(head.record, signed)
    this.#signedSize = head.record.size
    return head
  }

  /** If another sealer signed the checkpoint already, only the signed head of this process is updated. */
  async #sign(head: TreeHeadRecord, signed: SignedHead | undefined): Promise<void> {
    const { signedHead, identity, records, logger } = this.#host
    const isStored = (await this.#reader.checkpoint(head.size)) !== undefined
    if (isStored && signed?.size === head.size) return
    const root = await assertTreeHoldsSigned(this.#reader, head, signed)
    await identity.refresh()
    if (signed?.size !== head.size) await signedHead.write({ size: head.size, root })
    if (isStored) return
    const note = await identity.signCheckpoint(head.size, root)
    const checkpoint: CheckpointRecord = { size: head.size, root: head.root, note }
    // On a conflict another sealer stored the checkpoint of the same tree.
    await records.commit({
      checks: [{ key: logKeys.checkpoint(head.size), version: null }],
      writes: [putRecord(logKeys.checkpoint(head.size), checkpoint)],
    })
    logger.info({ size: head.size, root: head.root }, 'checkpoint signed')
  }

  async #head(): Promise<Head> {
    const [entry] = await readAll(this.#host.records, [logKeys.treeHead()])
    return {
      record: decodeRecord(entry) ?? { size: 0, root: toHex(emptyRoot()), batchId: null, time: 0 },
      version: entry?.version ?? null,
    }
  }

  /**
   * Whether an entry from `from` on belongs to an event, and not to a key or a token.
   */
  async #hasEvent(from: number, to: number): Promise<boolean> {
    const { records } = this.#host
    for (let at = Math.max(from, this.#noEventBeforeIndex); at < to; at += SCAN_ENTRIES) {
      const payloads = await records.readPayloads(at, Math.min(SCAN_ENTRIES, to - at))
      if (!payloads.every(isControlPayload)) return true
      this.#noEventBeforeIndex = at + payloads.length
    }
    return false
  }

  #unsealedFrom(size: number, logSize: number): number {
    return Math.max(0, logSize - Math.max(size, this.#noEventBeforeIndex))
  }

  /** Writes tiles, batch and head in one commit. If another sealer was first, nothing is written. */
  async #sealBatch({ record: head, version }: Head, end: number, logSize: number): Promise<void> {
    const { records, clock, logger } = this.#host
    const startedAt = performance.now()
    const { root, tiles } = await this.#integrate(head, end)
    if (end + this.#rules.maxLeaves <= logSize) this.#precomputeNext(end, end + this.#rules.maxLeaves)
    const batch: BatchRecord = {
      id: this.#ids.next(),
      start: head.size,
      end,
      root: toHex(root),
      createdAt: Math.max(clock.now(), head.time),
      previous: head.batchId,
    }
    const result = await records.commit({
      checks: [{ key: logKeys.treeHead(), version }],
      writes: [
        ...Array.from(tiles, ([key, value]) => ({ key, value })),
        putRecord(logKeys.batch(end), batch),
        ...batchEntries(batch),
        putRecord(logKeys.treeHead(), headAfter(batch)),
      ],
    })
    if (!result.ok) return logger.debug({ start: head.size, end }, 'another sealer sealed these entries')
    const ms = performance.now() - startedAt
    this.#onDuration('seal', ms)
    const { id: batchId, start, root: batchRoot } = batch
    logger.info({ batchId, start, end, root: batchRoot, ms: Math.round(ms) }, 'batch sealed')
  }

  /** If a worker fails, hashes again in this thread. So a machine that cannot run workers still seals. */
  async #integrate(head: TreeHeadRecord, newSize: number): Promise<Integration> {
    const { size: oldSize, root } = head
    const precomputed = this.#precomputed
    this.#precomputed = undefined
    const isUsable = precomputed?.oldSize === oldSize && precomputed.newSize === newSize
    const integrateWith = async (engine: TreeEngine, leafTiles: Promise<readonly Uint8Array[]>): Promise<Integration> =>
      integrate(
        { oldSize, oldRoot: fromHex(root) ?? new Uint8Array(), newSize, leafTiles: await leafTiles },
        this.#stored,
        engine,
      )
    try {
      return await integrateWith(
        this.#engine,
        isUsable ? precomputed.tiles : this.#leafTiles(this.#engine, oldSize, newSize),
      )
    } catch (error) {
      if (!isRegistryError(error, 'ENGINE_FAILED')) throw error
      this.#host.logger.warn({ err: error }, 'the sealing pool failed: this batch is hashed without it')
      return integrateWith(this.#inline, this.#leafTiles(this.#inline, oldSize, newSize))
    }
  }

  /**
   * Hashes the leaf tiles of a backlog's next batch while this batch is committed and signed. The entries of the log
   * never change, so the tiles stay correct. They are used if the next batch has this range.
   */
  #precomputeNext(oldSize: number, newSize: number): void {
    const tiles = this.#leafTiles(this.#engine, oldSize, newSize)
    // The error is thrown where the tiles are used.
    tiles.catch(() => {})
    this.#precomputed = { oldSize, newSize, tiles }
  }

  async #leafTiles(engine: TreeEngine, oldSize: number, newSize: number): Promise<readonly Uint8Array[]> {
    const start = integrationStart(oldSize)
    return engine.tiles(await this.#host.records.readLog(start, newSize - start), 'entries')
  }
}

const headAfter = ({ id, end, root, createdAt }: BatchRecord): TreeHeadRecord => ({
  size: end,
  root,
  batchId: id,
  time: createdAt,
})
