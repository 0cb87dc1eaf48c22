import { toHex } from '../bytes.ts'
import { logKeys } from './keys.ts'
import { DecodeCache } from '../store/decode-cache.ts'
import { RegistryError } from '../errors.ts'
import type { Entry, Range, RecordStore, ValidationData } from '../ports.ts'
import { emptyRoot, HASH_BYTES } from './tree/hasher.ts'
import { consistencyRanges, inclusionRanges } from './tree/proof.ts'
import { nodesOfRange, rangeHash, type LeafRange } from './tree/range.ts'
import { rowPrefix, TILE_WIDTH } from './tree/tile.ts'
import { BatchCache } from './batch-cache.ts'
import { readProofBlocks, type ProofBlock, type ProofRange } from './proof-blocks.ts'
import { decodeRecord } from '../store/record-codec.ts'
import {
  NO_ANCHORS,
  type AnchorHeadRecord,
  type AnchorRecord,
  type BatchIndexRecord,
  type BatchRecord,
  type CheckpointRecord,
  type ConfirmedAnchorRecord,
  type StampRecord,
  type ValidationDataRef,
  type TreeHeadRecord,
} from './records.ts'
import { StoredTiles } from './stored-tiles.ts'

/** `P`: batched. `S`: in an anchor that was sent. `C`: in a confirmed one. `null`: in no batch yet. */
export type SendStatus = 'P' | 'S' | 'C' | null

export interface EntryStatus {
  /** In the log, and so the leaf's index in every tree that holds it. */
  readonly position: number
  readonly batch: BatchRecord | null
  readonly sendStatus: SendStatus
}

export interface LogReaderOptions {
  /** Tiles kept in memory, at most 16,352 bytes each. Default 512: 8 MiB. */
  readonly maxCachedTiles?: number
}

/**
 * Reads the log: places, batches, checkpoints, proofs, stamps, anchors. Every tree size that it takes must be one that is sealed, and
 * every answer is from stored records only; nothing is rebuilt from entries.
 */
export class LogReader {
  readonly #records: RecordStore
  readonly #tiles: StoredTiles
  readonly #known = new BatchCache(MAX_KNOWN_BATCHES)
  readonly #anchorHeads = new DecodeCache(1, (entry) => decodeRecord<AnchorHeadRecord>(entry) as AnchorHeadRecord)

  constructor(records: RecordStore, { maxCachedTiles = 512 }: LogReaderOptions = {}) {
    this.#records = records
    this.#tiles = new StoredTiles(records, maxCachedTiles)
  }

  /** Size and root of what is sealed; the empty tree before the first batch. */
  async treeHead(): Promise<TreeHeadRecord> {
    return (
      (await this.#one<TreeHeadRecord>(logKeys.treeHead())) ?? {
        size: 0,
        root: toHex(emptyRoot()),
        batchId: null,
        time: 0,
      }
    )
  }

  /** Largest confirmed and sent anchors; zeros before the first. */
  async anchorHead(): Promise<AnchorHeadRecord> {
    const [entry] = await this.#records.get([logKeys.anchorHead()])
    return entry === undefined ? NO_ANCHORS : this.#anchorHeads.of(entry)
  }

  /**
   * Where each txId (32 bytes) is, `undefined` where it is not in the log. Reads positions, anchor head and each batch once, however many
   * are asked for. An anchor that is sent meanwhile may not be seen yet.
   */
  async entryStatuses(txIds: readonly Uint8Array[]): Promise<readonly (EntryStatus | undefined)[]> {
    const [positions, head] = await Promise.all([this.#records.positionsOf(txIds), this.anchorHead()])
    const batches = await this.#batchesOf(positions.filter((position) => position !== undefined))
    return positions.map((position) => {
      if (position === undefined) return undefined
      const batch = batches.get(position) ?? null
      return { position, batch, sendStatus: batch && sendStatusOf(batch, head) }
    })
  }

  /** The block of the confirmed anchor that covers each position, `undefined` where none does yet. */
  async blockNumbersOf(positions: readonly number[]): Promise<readonly (number | undefined)[]> {
    const sizes = positions.map((position) => position + 1)
    const anchors = await this.#firstCovering<ConfirmedAnchorRecord>(
      sizes,
      logKeys.confirmedAnchorsFrom,
      (anchor) => anchor.size,
    )
    return sizes.map((size) => anchors.get(size)?.blockNumber)
  }

  async batchById(id: string): Promise<BatchRecord | undefined> {
    const place = await this.#one<BatchIndexRecord>(logKeys.batchById(id))
    return place && this.#one<BatchRecord>(logKeys.batch(place.end))
  }

  /** The batch that holds a position, `undefined` where none does yet. */
  async batchOf(position: number): Promise<BatchRecord | undefined> {
    return (await this.#batchesOf([position])).get(position)
  }

  /** The size of the tree that a batch closed with this root (hex), `undefined` where none did. */
  async sizeOfRoot(root: string): Promise<number | undefined> {
    return (await this.#one<BatchIndexRecord>(logKeys.batchByRoot(root)))?.end
  }

  async sendStatusOf(batch: BatchRecord): Promise<SendStatus> {
    return sendStatusOf(batch, await this.anchorHead())
  }

  /** The signed checkpoint of exactly this size. */
  checkpoint(size: number): Promise<CheckpointRecord | undefined> {
    return this.#one<CheckpointRecord>(logKeys.checkpoint(size))
  }

  latestCheckpoint(): Promise<CheckpointRecord | undefined> {
    return this.#first<CheckpointRecord>({ ...logKeys.checkpoints(), reverse: true })
  }

  /** The first stamp of this size or a larger one that has its quorum. */
  stampCovering(treeSize: number): Promise<StampRecord | undefined> {
    return this.#first<StampRecord>(logKeys.stampsFrom(treeSize))
  }

  latestStamp(): Promise<StampRecord | undefined> {
    return this.#first<StampRecord>({ ...logKeys.stampsFrom(0), reverse: true })
  }

  latestPartialStamp(): Promise<StampRecord | undefined> {
    return this.#first<StampRecord>({ ...logKeys.partialStamps(), reverse: true })
  }

  /** The DER of what was kept with a token, in order. */
  async validationData(refs: readonly ValidationDataRef[]): Promise<readonly ValidationData[]> {
    const entries = await this.#records.get(refs.map(({ sha256 }) => logKeys.validationData(sha256)))
    return refs.map(({ type, sha256 }, i) => {
      const der = entries[i]?.value
      if (der === undefined)
        throw new RegistryError('CORRUPT', `What was kept with a token is missing (${sha256}): restore the store`)
      return { type, der }
    })
  }

  /** The confirmed anchor in the lowest block among those of this size or a larger one. */
  async anchorCovering(treeSize: number): Promise<AnchorRecord | undefined> {
    const confirmed = await this.#first<ConfirmedAnchorRecord>(logKeys.confirmedAnchorsFrom(treeSize))
    return confirmed && this.anchor(confirmed.size)
  }

  /** The anchor of exactly this size, in whatever state. */
  anchor(treeSize: number): Promise<AnchorRecord | undefined> {
    return this.#one<AnchorRecord>(logKeys.anchor(treeSize))
  }

  latestAnchor(): Promise<AnchorRecord | undefined> {
    return this.#first<AnchorRecord>({ ...logKeys.anchorsFrom(0), reverse: true })
  }

  /** Hashes from the leaf's sibling to the root (RFC 9162 § 2.1.3). Requires position < treeSize. */
  async inclusionProof(position: number, treeSize: number): Promise<readonly Uint8Array[]> {
    return this.#hashesOf(inclusionRanges(position, treeSize))
  }

  /**
   * What the inclusion proofs of leaves `from` to `to` (exclusive) are copied from, in order and at most one tile a block. Reads a
   * bounded number of tiles ahead. Requires from <= to <= treeSize.
   */
  proofBlocks(range: ProofRange): AsyncGenerator<readonly ProofBlock[], void, undefined> {
    return readProofBlocks(this.#records, this.#tiles, range)
  }

  /** RFC 9162 § 2.1.4; empty where the sizes are equal. Requires from <= to. */
  async consistencyProof(from: number, to: number): Promise<readonly Uint8Array[]> {
    return this.#hashesOf(consistencyRanges(from, to))
  }

  /** The root of the tree of any sealed size, computed from tiles. */
  async rootAt(size: number): Promise<Uint8Array> {
    if (size === 0) return emptyRoot()
    const [root] = await this.#hashesOf([{ start: 0, end: size }])
    return root as Uint8Array
  }

  /** The first `width` hashes of a tile's row 0, as C2SP tlog-tiles serves it; `undefined` where the tree has not so many. */
  async tile(level: number, index: number, width: number): Promise<Uint8Array | undefined> {
    const tile = await this.#tiles.tile(level, index, width)
    return tile && rowPrefix(tile, width)?.slice()
  }

  /** The entries of tile `index`, `width` of them, packed (32 bytes each); `undefined` where not all are sealed. */
  async packedEntries(index: number, width: number): Promise<Uint8Array | undefined> {
    const start = index * TILE_WIDTH
    const { size } = await this.treeHead()
    return start + width > size ? undefined : this.#records.readLog(start, width)
  }

  /** The same as a C2SP entry bundle: each entry with its length in two bytes before it, big-endian. */
  async entries(index: number, width: number): Promise<Uint8Array | undefined> {
    const packed = await this.packedEntries(index, width)
    if (packed === undefined) return undefined
    const out = new Uint8Array(width * (2 + HASH_BYTES))
    for (let i = 0; i < width; i++) {
      out[i * (2 + HASH_BYTES) + 1] = HASH_BYTES
      out.set(packed.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES), i * (2 + HASH_BYTES) + 2)
    }
    return out
  }

  /** The opening of an entry (32 bytes) that is a key's or a token's, `undefined` for an event's. */
  async controlOpening(entry: Uint8Array): Promise<Uint8Array | undefined> {
    const [stored] = await this.#records.get([logKeys.controlOpening(toHex(entry))])
    return stored?.value
  }

  async #hashesOf(ranges: readonly LeafRange[]): Promise<readonly Uint8Array[]> {
    const source = await this.#tiles.nodes(ranges.flatMap(nodesOfRange))
    return ranges.map((range) => rangeHash(range, source))
  }

  async #one<T extends object>(key: string): Promise<T | undefined> {
    const [entry] = await this.#records.get([key])
    return decodeRecord<T>(entry)
  }

  async #first<T extends object>(range: Range): Promise<T | undefined> {
    for await (const entry of this.#records.list({ ...range, limit: 1 })) return decodeRecord<T>(entry)
    return undefined
  }

  /** The batch of each position that has one, by position: those that are known without reading (24 µs of a get). */
  async #batchesOf(positions: readonly number[]): Promise<ReadonlyMap<number, BatchRecord>> {
    const found = new Map<number, BatchRecord>()
    const others: number[] = []
    for (const position of positions) {
      const known = this.#known.holding(position)
      if (known === undefined) others.push(position)
      else found.set(position, known)
    }
    if (others.length === 0) return found
    const sizes = others.map((position) => position + 1)
    const read = await this.#firstCovering<BatchRecord>(sizes, logKeys.batchesFrom, (batch) => batch.end)
    for (const [size, batch] of read) {
      this.#known.note(batch)
      found.set(size - 1, batch)
    }
    return found
  }

  /**
   * For each size the first record at or beyond it, by size. Walks the range once in pages: where what is wanted lies far apart, pages
   * are of one record and it jumps; where it lies close, they grow.
   */
  async #firstCovering<T extends object>(
    sizes: readonly number[],
    from: (size: number) => Range,
    sizeOf: (record: T) => number,
  ): Promise<ReadonlyMap<number, T>> {
    const found = new Map<number, T>()
    let page: readonly T[] = []
    let limit = 1
    let at = 0
    let used = 0
    for (const size of [...new Set(sizes)].sort((a, b) => a - b)) {
      while (at < page.length && sizeOf(page[at] as T) < size) at++
      if (at === page.length) {
        if (page.length < limit && page.length > 0) break
        limit = Math.min(MAX_PAGE, Math.max(1, used * 2))
        page = await this.#page<T>({ ...from(size), limit })
        if (page.length === 0) break
        ;[at, used] = [0, 0]
      }
      found.set(size, page[at] as T)
      used = at + 1
    }
    return found
  }

  async #page<T extends object>(range: Range): Promise<readonly T[]> {
    const entries: Entry[] = []
    for await (const entry of this.#records.list(range)) entries.push(entry)
    return entries.map((entry) => decodeRecord<T>(entry) as T)
  }
}

const MAX_PAGE = 256
/** Some 400 bytes each: 1.6 MiB. */
const MAX_KNOWN_BATCHES = 4_096

const sendStatusOf = ({ end }: BatchRecord, { confirmedSize, sentSize }: AnchorHeadRecord): Exclude<SendStatus, null> =>
  confirmedSize >= end ? 'C' : sentSize >= end ? 'S' : 'P'
