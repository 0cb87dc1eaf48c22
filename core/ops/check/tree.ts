import { equalBytes, toHex } from '../../bytes.ts'
import { logKeys } from '../../log/keys.ts'
import type { TreeHeadRecord, BatchRecord } from '../../log/records.ts'
import { TreeAccumulator } from '../../log/tree/accumulator.ts'
import { buildTile, nodeAt, TILE_HEIGHT, TILE_WIDTH, tileLevelsOf } from '../../log/tree/tile.ts'
import type { Range, SignedHead } from '../../ports/index.ts'
import type { Check } from './check.ts'
import { compareEntries } from './lists.ts'
import type { LogPage } from './log-page.ts'
import type { DerivedEntry } from '../../store/entries.ts'
import { listRecords } from '../../store/read.ts'

/** Compares tiles above the leaves, batches and signed heads with the tree of all leaves. */
export class TreeCheck {
  readonly #check: Check
  readonly #tree = new TreeAccumulator()
  readonly #tiles: UpperTiles
  readonly #batches: BatchCheck
  readonly #signedHeads: readonly SignedHead[]

  constructor(check: Check, signedHeads: readonly SignedHead[]) {
    this.#check = check
    this.#tiles = new UpperTiles(check)
    this.#batches = new BatchCheck(check)
    this.#signedHeads = signedHeads
  }

  async add({ leaves = [], tile }: LogPage): Promise<void> {
    for (const leaf of leaves) {
      this.#tree.add(leaf)
      await this.#batches.compare(this.#tree)
      this.#compareSignedHeads()
    }
    if (tile !== undefined) await this.#tiles.add(tile)
  }

  async finish(head: TreeHeadRecord | undefined): Promise<void> {
    await this.#tiles.finish(this.#tree.size)
    await this.#batches.finish(head)
  }

  #compareSignedHeads(): void {
    for (const { size, root } of this.#signedHeads)
      if (size === this.#tree.size) {
        const isSame = equalBytes(root, this.#tree.root())
        this.#check.expect(isSame, 'head', 'signed head', 'The signed root of this size differs')
      }
  }
}

/** The tile of a level that is not complete yet. */
interface OpenTile {
  index: number
  row: Uint8Array[]
}

/**
 * Builds every tile above the leaves again, without the sealing engine, and compares it with the stored tile. Holds one
 * row for each level.
 */
class UpperTiles {
  readonly #check: Check
  /** Of level 1, 2, … */
  readonly #levels: OpenTile[] = []
  #expected: DerivedEntry[] = []

  constructor(check: Check) {
    this.#check = check
  }

  /** Adds the next full tile of leaves. */
  async add(tile: Uint8Array): Promise<void> {
    this.#push(1, tile)
    if (this.#expected.length > 0) await this.#compare()
  }

  /**
   * Compares the partial tiles at the right edge, and reports stored tiles that the tree of this size does not have,
   * such as a partial one of leaves.
   */
  async finish(size: number): Promise<void> {
    for (const [i, { row }] of this.#levels.entries()) if (row.length > 0) this.#complete(i + 1)
    await this.#compare()
    const levels = tileLevelsOf(size)
    for (let level = 0; level < levels; level++) {
      const index = level === 0 ? Math.floor(size / TILE_WIDTH) : this.#openTile(level).index
      await this.#reportTiles({ gte: logKeys.tile(level, index), lt: logKeys.tile(level + 1, 0) })
    }
    await this.#reportTiles({ gte: logKeys.tile(levels, 0), lt: logKeys.tiles().lt })
  }

  async #compare(): Promise<void> {
    await compareEntries(this.#check, 'tile', this.#expected)
    this.#expected = []
  }

  async #reportTiles(range: Range): Promise<void> {
    for await (const { key } of this.#check.records.list(range))
      this.#check.report('tile', key, 'The tree has no such tile', null)
  }

  #openTile(level: number): OpenTile {
    return (this.#levels[level - 1] ??= { index: 0, row: [] })
  }

  /** Adds the top of a full tile to the row of the level above it. */
  #push(level: number, below: Uint8Array): void {
    const top = nodeAt(below, TILE_HEIGHT, 0)
    const { row } = this.#openTile(level)
    if (top !== undefined) row.push(top)
    if (row.length === TILE_WIDTH) this.#push(level + 1, this.#complete(level))
  }

  #complete(level: number): Uint8Array {
    const open = this.#openTile(level)
    const tile = buildTile(open.row)
    this.#expected.push({ key: logKeys.tile(level, open.index), value: tile })
    open.row = []
    open.index += 1
    return tile
  }
}

/** Compares each batch with the tree when it reaches the batch's end. */
class BatchCheck {
  readonly #check: Check
  readonly #batches: AsyncGenerator<BatchRecord, undefined>
  #next: IteratorResult<BatchRecord, undefined> | undefined
  #last: BatchRecord | undefined

  constructor(check: Check) {
    this.#check = check
    this.#batches = batchesIn(check)
  }

  /** Call this after each leaf that was added to the tree. */
  async compare(tree: TreeAccumulator): Promise<void> {
    const { value: batch } = await this.#nextBatch()
    if (batch?.end !== tree.size) return
    const key = logKeys.batch(batch.end)
    const root = toHex(tree.root())
    this.#check.expect(batch.root === root, 'batch', key, "Its root is not the root of the log's entries")
    const follows = batch.start === (this.#last?.end ?? 0) && batch.previous === (this.#last?.id ?? null)
    this.#check.expect(follows, 'batch', key, 'It does not follow the previous batch')
    this.#next = undefined
    await this.#expectCheckpoint(batch)
    this.#last = batch
  }

  /** Reports batches that the tree did not reach, and compares the tree's head with the last batch. */
  async finish(head: TreeHeadRecord | undefined): Promise<void> {
    for (let next = await this.#nextBatch(); next.done !== true; next = await this.#batches.next()) {
      const key = logKeys.batch(next.value.end)
      this.#check.report('batch', key, 'It ends after the sealed entries, or inside another batch')
    }
    const { id = null, end = 0, root, createdAt } = this.#last ?? {}
    const isSame =
      head === undefined
        ? end === 0
        : head.size === end && head.batchId === id && head.root === root && head.time === createdAt
    this.#check.expect(isSame, 'head', logKeys.treeHead(), "The tree's head is not the last batch")
  }

  /** Stays the same until it was compared. */
  async #nextBatch(): Promise<IteratorResult<BatchRecord, undefined>> {
    return (this.#next ??= await this.#batches.next())
  }

  /** Only the last batch may have no checkpoint yet. The next start signs it. */
  async #expectCheckpoint({ end }: BatchRecord): Promise<void> {
    const key = logKeys.checkpoint(end)
    if ((await this.#check.get(key)) !== undefined) return
    const { done } = await this.#nextBatch()
    this.#check.expect(done === true, 'checkpoint', key, 'The checkpoint of a batch is missing')
  }
}

/** The batches that can be decoded and are stored under their own sizes. */
async function* batchesIn(check: Check): AsyncGenerator<BatchRecord, undefined> {
  for await (const entry of listRecords(check.records, logKeys.batches())) {
    const batch = check.decode('batch', entry)
    if (batch === undefined) continue
    const isOwnKey = check.guard('batch', entry.key, () => logKeys.batch(batch.end) === entry.key)
    if (isOwnKey === true) yield batch
    else if (isOwnKey === false) check.report('batch', entry.key, 'It is stored under another size than its own')
  }
  return undefined
}
