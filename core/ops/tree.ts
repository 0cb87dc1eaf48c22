import { equalBytes, toHex } from '../bytes.ts'
import type { TreeHeadRecord, BatchRecord, CheckpointRecord } from '../log/records.ts'
import { TreeAccumulator } from '../log/tree/accumulator.ts'
import type { Range, SignedHead } from '../ports/index.ts'
import { listRecords } from '../store/read.ts'
import { type DerivedEntry } from '../store/entries.ts'
import type { Check } from './check.ts'
import { expectEntries } from './derived.ts'
import { logKeys } from '../log/keys.ts'
import { buildTile, nodeAt, TILE_HEIGHT, TILE_WIDTH, tileLevelsOf } from '../log/tree/tile.ts'
import { verifyCheckpoint } from '../log/note.ts'

/** Compares tiles, batches and signed heads with the tree of all leaves. */
export class TreeCheck {
  readonly #check: Check
  readonly #tree = new TreeAccumulator()
  readonly #tiles: TileCheck
  readonly #batches: BatchCheck
  readonly #signedHeads: readonly SignedHead[]

  constructor(check: Check, checkpointKeys: readonly CheckpointKey[], signedHeads: readonly SignedHead[]) {
    this.#check = check
    this.#tiles = new TileCheck(check)
    this.#batches = new BatchCheck(check, checkpointKeys)
    this.#signedHeads = signedHeads
  }

  async add(leaves: readonly Uint8Array[]): Promise<void> {
    for (const leaf of leaves) {
      this.#tree.add(leaf)
      this.#tiles.add(leaf)
      await this.#batches.compare(this.#tree)
      this.#compareSignedHeads()
    }
    await this.#tiles.compare()
  }

  async finish(head: TreeHeadRecord | undefined, sealedSize: number): Promise<void> {
    await this.#tiles.finish(sealedSize)
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
 * Builds every tile of a growing tree again, without the sealing engine, and compares it with the stored tile. Holds
 * one row for each level.
 */
class TileCheck {
  readonly #check: Check
  readonly #levels: OpenTile[] = []
  readonly #expected: DerivedEntry[] = []

  constructor(check: Check) {
    this.#check = check
  }

  /** Adds the next leaf hash. */
  add(leaf: Uint8Array): void {
    this.#push(0, leaf)
  }

  /** Compares the tiles that were completed since the last call. */
  async compare(): Promise<void> {
    await expectEntries(this.#check, this.#expected.splice(0))
  }

  /**
   * Compares the partial tiles at the right edge, and reports stored tiles that the tree of this size does not have,
   * such as a partial one of leaves.
   */
  async finish(size: number): Promise<void> {
    for (const [level, { row }] of this.#levels.entries()) if (level > 0 && row.length > 0) this.#complete(level)
    await this.compare()
    const levels = tileLevelsOf(size)
    for (let level = 0; level < levels; level++)
      await this.#reportTiles({
        gte: logKeys.tile(level, this.#levels[level]?.index ?? 0),
        lt: logKeys.tile(level + 1, 0),
      })
    await this.#reportTiles({ gte: logKeys.tile(levels, 0), lt: logKeys.tiles().lt })
  }

  async #reportTiles(range: Range): Promise<void> {
    for await (const { key } of this.#check.records.list(range))
      this.#check.expectDerived(false, { kind: 'tile', key, message: 'The tree has no such tile', repair: null })
  }

  #openTile(level: number): OpenTile {
    return (this.#levels[level] ??= { index: 0, row: [] })
  }

  #push(level: number, node: Uint8Array): void {
    const { row } = this.#openTile(level)
    row.push(node)
    if (row.length < TILE_WIDTH) return
    const top = nodeAt(this.#complete(level), TILE_HEIGHT, 0)
    if (top !== undefined) this.#push(level + 1, top)
  }

  #complete(level: number): Uint8Array {
    const open = this.#openTile(level)
    const bytes = buildTile(open.row)
    this.#expected.push({ key: logKeys.tile(level, open.index), value: bytes })
    open.row = []
    open.index += 1
    return bytes
  }
}

export interface CheckpointKey {
  /** Position of the key's entry in the log; infinite if it is not in the log. */
  readonly position: number
  readonly verifierKey: string
}

/** Compares each batch with the tree when it reaches the batch's end. */
class BatchCheck {
  readonly #check: Check
  readonly #checkpointKeys: readonly CheckpointKey[]
  readonly #batches: AsyncGenerator<BatchRecord, undefined>
  #next: IteratorResult<BatchRecord, undefined> | undefined
  #last: BatchRecord | undefined

  constructor(check: Check, checkpointKeys: readonly CheckpointKey[]) {
    this.#check = check
    this.#checkpointKeys = checkpointKeys
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
    await this.#checkCheckpoint(batch)
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
  async #checkCheckpoint(batch: BatchRecord): Promise<void> {
    const key = logKeys.checkpoint(batch.end)
    const entry = await this.#check.get(key)
    if (entry === undefined) {
      const { done } = await this.#nextBatch()
      this.#check.expect(done === true, 'checkpoint', key, 'The checkpoint of a batch is missing')
      return
    }
    const checkpoint = this.#check.decode('checkpoint', entry)
    if (checkpoint === undefined) return
    const isSame = checkpoint.size === batch.end && checkpoint.root === batch.root
    this.#check.expect(isSame, 'checkpoint', key, 'It is not the checkpoint of its batch')
    this.#checkSignature(checkpoint, batch)
  }

  #checkSignature({ size, root, note }: CheckpointRecord, batch: BatchRecord): void {
    const key = logKeys.checkpoint(batch.end)
    const signer = this.#checkpointKeys.findLast(({ position }) => position < batch.end)
    if (signer === undefined) return
    this.#check.guard('checkpoint', key, () => {
      const signed = verifyCheckpoint(note, signer.verifierKey)
      const isSame = signed.size === size && toHex(signed.root) === root
      this.#check.expect(isSame, 'checkpoint', key, 'The signed note has another size or root')
    })
  }
}

/** The batches that can be decoded and are stored under their own sizes. */
async function* batchesIn(check: Check): AsyncGenerator<BatchRecord, undefined> {
  for await (const entry of listRecords(check.records, logKeys.batches())) {
    const batch = check.decode('batch', entry)
    if (batch === undefined) continue
    if (logKeys.batch(batch.end) === entry.key) yield batch
    else check.report('batch', entry.key, 'It is stored under another size than its own')
  }
  return undefined
}
