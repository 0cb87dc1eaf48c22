import { FULL_TILE_BYTES } from '../../core/tree/tile.ts'
import { TILE_ROW_BYTES } from '../kernel/tiles.ts'

/** Shared memory for one row and its tiles. */
export interface Room {
  readonly row: Uint8Array
  readonly out: Uint8Array
  /** [0]: the next tile that no worker has taken. */
  readonly next: Int32Array
}

/** A larger room is not kept: 2^17 hashes, 12 MiB of row and tiles. */
const MAX_KEPT_TILES = 512

/**
 * Rooms for rows that are hashed at the same time. One is kept: its pages are there already, and what is shared and let go is
 * not counted by the garbage collector, so a new one for each batch of a backlog would pile up.
 */
export class Rooms {
  #kept: Room | undefined

  /** A room for so many tiles, nobody else's until it is given back. */
  take(tiles: number): Room {
    const kept = this.#kept
    if (kept !== undefined && kept.row.length >= tiles * TILE_ROW_BYTES) {
      this.#kept = undefined
      return kept
    }
    const capacity = 2 ** Math.ceil(Math.log2(tiles))
    return {
      row: new Uint8Array(new SharedArrayBuffer(capacity * TILE_ROW_BYTES)),
      out: new Uint8Array(new SharedArrayBuffer(capacity * FULL_TILE_BYTES)),
      next: new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)),
    }
  }

  /** Requires that no worker writes to it any more. */
  giveBack(room: Room): void {
    const isLarger = room.row.length >= (this.#kept?.row.length ?? 0)
    if (isLarger && room.row.length <= MAX_KEPT_TILES * TILE_ROW_BYTES) this.#kept = room
  }
}
