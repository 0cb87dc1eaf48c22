import type { RecordStore } from '../ports/index.ts'
import { logKeys } from './keys.ts'
import { openingOfPayload } from './payload.ts'
import { lost, readOne } from './record-reads.ts'
import type { TreeHeadRecord } from './records.ts'
import type { StoredTiles } from './stored-tiles.ts'
import { HASH_BYTES } from './tree/hasher.ts'
import { rowPrefix, TILE_WIDTH } from './tree/tile.ts'

/**
 * The sealed part of the log in tiles, as C2SP tlog-tiles defines them: hashes, entries and openings. What is beyond
 * the sealed tree is `undefined`. What the store has lost of it throws `CORRUPT`, so that it never looks absent.
 */
export class SealedTiles {
  readonly #records: RecordStore
  readonly #stored: StoredTiles

  constructor(records: RecordStore, stored: StoredTiles) {
    this.#records = records
    this.#stored = stored
  }

  /** The first `width` hashes of row 0 of a tile. */
  async hashes(level: number, index: number, width: number): Promise<Uint8Array | undefined> {
    let tile = await this.#stored.tile(level, index, width)
    if (tile === undefined) {
      if (!(await this.#isSealed(level, index, width))) return undefined
      // It may have been sealed after the first read.
      tile = await this.#stored.tile(level, index, width)
      if (tile === undefined) throw lost(`Tile ${logKeys.tile(level, index)}`)
    }
    return rowPrefix(tile, width)?.slice()
  }

  /** The first `width` entries under tile `index`, packed (32 bytes each). */
  async packedEntries(index: number, width: number): Promise<Uint8Array | undefined> {
    if (!(await this.#isSealed(0, index, width))) return undefined
    const entries = await this.#records.readLog(index * TILE_WIDTH, width)
    if (entries.length !== width * HASH_BYTES) throw lost(`An entry from position ${index * TILE_WIDTH} on`)
    return entries
  }

  /** The same as an entry bundle: before each entry its length in two bytes, big-endian. */
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

  /** The openings of the first `width` entries under tile `index`. */
  async openings(index: number, width: number): Promise<readonly Uint8Array[] | undefined> {
    if (!(await this.#isSealed(0, index, width))) return undefined
    const payloads = await this.#records.readPayloads(index * TILE_WIDTH, width)
    if (payloads.length !== width) throw lost(`An opening from position ${index * TILE_WIDTH} on`)
    return payloads.map(openingOfPayload)
  }

  async #isSealed(level: number, index: number, width: number): Promise<boolean> {
    const head = await readOne<TreeHeadRecord>(this.#records, logKeys.treeHead())
    return index * TILE_WIDTH + width <= Math.floor((head?.size ?? 0) / TILE_WIDTH ** level)
  }
}
