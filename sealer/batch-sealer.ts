import { fromHex, toHex } from '../core/bytes.ts'
import { isRegistryError } from '../core/errors.ts'
import type { IdSource } from '../core/ids.ts'
import { logKeys } from '../core/log/keys.ts'
import type { LogReader } from '../core/log/reader.ts'
import { decodeRecord, encodeRecord } from '../core/store/record-codec.ts'
import type { BatchIndexRecord, BatchRecord, CheckpointRecord, TreeHeadRecord } from '../core/log/records.ts'
import { assertHoldsSigned, assertTreeHoldsSigned } from '../core/log/signed-head.ts'
import { StoredTiles } from '../core/log/stored-tiles.ts'
import type { SealerHost, SignedHead, TreeEngine, Version } from '../core/ports.ts'
import { emptyRoot, HASH_BYTES } from '../core/log/tree/hasher.ts'
import { InlineEngine } from './engine/inline.ts'
import { integrationStart, integrate, type Integration } from './integrate.ts'

export interface BatchRules {
  /** Entries in a batch at most. */
  readonly maxLeaves: number
  /** How old its oldest event gets, ms, counted from when the sealer first saw it. */
  readonly maxWaitMs: number
}

/** The tree's head, and the version by which a commit checks it. */
interface Head {
  readonly record: TreeHeadRecord
  readonly version: Version | null
}

/** What a pass left: the head, the log's size, and when it is to be done again. */
export interface SealPass {
  readonly head: TreeHeadRecord
  readonly logSize: number
  /** ms until the open batch closes, 0 where there may be more to seal now; `null` where no event waits. */
  readonly dueInMs: number | null
}

/** Leaf tiles that are made before their batch is begun. */
interface PrecomputedTiles {
  readonly oldSize: number
  readonly newSize: number
  readonly tiles: Promise<readonly Uint8Array[]>
}

/** Tiles of the right edge, two a level: what growing reads again each time. */
const CACHED_TILES = 16
/** Entries looked at together for the first that is an event. */
const SCAN_ENTRIES = 16

/**
 * Seals the log in batches and signs their checkpoints. Every step starts from what is stored, so a pass after a crash, or after
 * another sealer's batch, is a pass like any other. Not to be run twice at a time.
 */
export class BatchSealer {
  readonly #host: SealerHost
  readonly #reader: LogReader
  readonly #engine: TreeEngine
  readonly #ids: IdSource
  readonly #rules: BatchRules
  readonly #stored: StoredTiles
  readonly #inline = new InlineEngine()
  /** The size whose checkpoint is known to be stored. */
  #signedSize = 0
  /** No entry before this place that is not sealed is an event. */
  #noEventBeforeIndex = 0
  /** When the oldest event of the open batch was first seen. */
  #batchOpenedAt: number | null = null
  /** The next batch of a backlog, while it is hashed. */
  #precomputed: PrecomputedTiles | undefined

  constructor(host: SealerHost, reader: LogReader, engine: TreeEngine, ids: IdSource, rules: BatchRules) {
    this.#host = host
    this.#reader = reader
    this.#engine = engine
    this.#ids = ids
    this.#rules = rules
    this.#stored = new StoredTiles(host.records, CACHED_TILES)
  }

  /**
   * Signs what is not signed yet, then closes the open batch if it is due; or if `isForced`, whatever its age. A batch that holds
   * no event is not begun.
   */
  async pass(isForced = false): Promise<SealPass> {
    const head = await this.#signedHead()
    const logSize = await this.#host.records.logSize()
    const { size } = head.record
    if (!(await this.#hasEvent(size, logSize))) {
      this.#batchOpenedAt = null
      return { head: head.record, logSize, dueInMs: null }
    }
    const now = this.#host.clock.now()
    // A clock that was set back must not keep a batch open for longer than maxWait.
    this.#batchOpenedAt = Math.min(this.#batchOpenedAt ?? now, now)
    const dueInMs = this.#batchOpenedAt + this.#rules.maxWaitMs - now
    if (!isForced && dueInMs > 0 && logSize - size < this.#rules.maxLeaves)
      return { head: head.record, logSize, dueInMs }
    await this.#sealBatch(head, Math.min(logSize, size + this.#rules.maxLeaves), logSize)
    this.#batchOpenedAt = null
    return { head: (await this.#signedHead()).record, logSize, dueInMs: 0 }
  }

  /** What another sealer's work has come to, remembered as signed where it is; seals nothing. */
  async observe(): Promise<Omit<SealPass, 'dueInMs'>> {
    const { record } = await this.#head()
    const isSigned = record.size > 0 && (await this.#reader.checkpoint(record.size)) !== undefined
    const head = isSigned ? (await this.#signedHead()).record : record
    return { head, logSize: await this.#host.records.logSize() }
  }

  /** Waits for what was begun ahead, so that nothing reads the store afterwards. Requires that no pass is under way. */
  async close(): Promise<void> {
    await this.#precomputed?.tiles.catch(() => {})
    this.#precomputed = undefined
  }

  /**
   * Checks that the store still holds what was signed, then signs and stores the checkpoint of the newest batch if it has
   * none. Throws as `assertHoldsSigned` and `pass`.
   */
  async start(): Promise<void> {
    const { records, signedHead } = this.#host
    await assertHoldsSigned(records, this.#reader, await signedHead.read())
    await this.#signedHead()
  }

  /**
   * The tree's head, whose checkpoint is stored. A batch is only ever put on such a head, so no batch is left without its checkpoint. What
   * was signed is durable before the checkpoint is seen, so a store that is set back is always noticed: `LOG_BEHIND_SIGNED`.
   */
  async #signedHead(): Promise<Head> {
    const seen = await this.#head()
    if (seen.record.size === this.#signedSize) return seen
    // First what was signed, then the head: the other way round another sealer's batch in between would look like a tree set back.
    const signed = await this.#host.signedHead.read()
    const head = await this.#head()
    await this.#sign(head.record, signed)
    this.#signedSize = head.record.size
    return head
  }

  /** Also where another sealer signed it already: what this process remembers as signed then includes it. */
  async #sign(head: TreeHeadRecord, signed: SignedHead | undefined): Promise<void> {
    const { signedHead, identity, records, logger } = this.#host
    const isStored = (await this.#reader.checkpoint(head.size)) !== undefined
    if (isStored && signed?.size === head.size) return
    const root = await assertTreeHoldsSigned(this.#reader, head, signed)
    await identity.refresh()
    if (signed?.size !== head.size) await signedHead.write({ size: head.size, root })
    if (isStored) return
    const note = identity.signCheckpoint(head.size, root)
    const checkpoint: CheckpointRecord = { size: head.size, root: head.root, note }
    // A conflict is another sealer's checkpoint of the same tree.
    await records.commit({
      checks: [{ key: logKeys.checkpoint(head.size), version: null }],
      writes: [{ key: logKeys.checkpoint(head.size), value: encodeRecord(checkpoint) }],
    })
    logger.info({ size: head.size, root: head.root }, 'checkpoint signed')
  }

  async #head(): Promise<Head> {
    const [entry] = await this.#host.records.get([logKeys.treeHead()])
    const record = decodeRecord<TreeHeadRecord>(entry)
    return {
      record: record ?? { size: 0, root: toHex(emptyRoot()), batchId: null, time: 0 },
      version: entry?.version ?? null,
    }
  }

  /** True where an entry from `from` on is an event's: one whose opening is not among those of keys and tokens. */
  async #hasEvent(from: number, to: number): Promise<boolean> {
    const { records } = this.#host
    for (let at = Math.max(from, this.#noEventBeforeIndex); at < to; at += SCAN_ENTRIES) {
      const packed = await records.readLog(at, Math.min(SCAN_ENTRIES, to - at))
      const openings: string[] = []
      for (let i = 0; i < packed.length; i += HASH_BYTES)
        openings.push(logKeys.controlOpening(toHex(packed.subarray(i, i + HASH_BYTES))))
      if ((await records.get(openings)).includes(undefined)) return true
      this.#noEventBeforeIndex = at + openings.length
    }
    return false
  }

  /** One batch in one commit: tiles, batch, head. Where another sealer was first, nothing is done. */
  async #sealBatch({ record: head, version }: Head, end: number, logSize: number): Promise<void> {
    const { records, clock, logger } = this.#host
    const begun = performance.now()
    const growth = await this.#integrate(head, end)
    if (end + this.#rules.maxLeaves <= logSize) this.#precomputeNext(end, end + this.#rules.maxLeaves)
    const batch: BatchRecord = {
      id: this.#ids.next(),
      start: head.size,
      end,
      root: toHex(growth.root),
      createdAt: Math.max(clock.now(), head.time),
      previous: head.batchId,
    }
    const result = await records.commit({
      checks: [{ key: logKeys.treeHead(), version }],
      writes: [
        ...Array.from(growth.tiles, ([key, value]) => ({ key, value })),
        { key: logKeys.batch(end), value: encodeRecord(batch) },
        { key: logKeys.batchById(batch.id), value: encodeRecord({ end } satisfies BatchIndexRecord) },
        { key: logKeys.batchByRoot(batch.root), value: encodeRecord({ end } satisfies BatchIndexRecord) },
        { key: logKeys.treeHead(), value: encodeRecord(headAfter(batch)) },
      ],
    })
    if (result.ok)
      logger.info(
        { batchId: batch.id, start: batch.start, end, root: batch.root, ms: Math.round(performance.now() - begun) },
        'batch sealed',
      )
    else logger.debug({ start: head.size, end }, 'another sealer sealed these entries')
  }

  /** Where a worker dies, the same again in this thread: a machine that cannot run workers still seals. */
  async #integrate(head: TreeHeadRecord, newSize: number): Promise<Integration> {
    const { size: oldSize, root } = head
    const ahead = this.#precomputed
    this.#precomputed = undefined
    const isAhead = ahead?.oldSize === oldSize && ahead.newSize === newSize
    const grow = async (engine: TreeEngine, leafTiles: Promise<readonly Uint8Array[]>): Promise<Integration> =>
      integrate(
        { oldSize, oldRoot: fromHex(root) ?? new Uint8Array(), newSize, leafTiles: await leafTiles },
        this.#stored,
        engine,
      )
    try {
      return await grow(this.#engine, isAhead ? ahead.tiles : this.#leafTiles(this.#engine, oldSize, newSize))
    } catch (error) {
      if (!isRegistryError(error, 'ENGINE_FAILED')) throw error
      this.#host.logger.warn({ err: error }, 'the sealing pool failed: this batch is hashed without it')
      return grow(this.#inline, this.#leafTiles(this.#inline, oldSize, newSize))
    }
  }

  /**
   * Hashes the next batch of a backlog while this one is committed and signed: the log's entries do not change, so nothing else has to be
   * known. It is used if that batch is then the next one.
   */
  #precomputeNext(oldSize: number, newSize: number): void {
    const tiles = this.#leafTiles(this.#engine, oldSize, newSize)
    // What failed is thrown to who uses it.
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
