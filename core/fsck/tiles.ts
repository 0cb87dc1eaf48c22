import { concatBytes, equalBytes } from '../bytes.ts'
import { logKeys } from '../log/keys.ts'
import { HASH_BYTES, nodeHash } from '../log/tree/hasher.ts'
import { nodeAt, TILE_HEIGHT, TILE_WIDTH, tileLevelsOf } from '../log/tree/tile.ts'
import type { Check } from './check.ts'

interface DueTile {
  readonly level: number
  readonly index: number
  readonly bytes: Uint8Array
}

/** Derives every tile of a growing tree anew, without the sealing engine, and compares it with the stored one. Holds one row a level. */
export class TileCheck {
  readonly #check: Check
  readonly #rows: Uint8Array[][] = []
  readonly #indexes: number[] = []
  #due: DueTile[] = []

  constructor(check: Check) {
    this.#check = check
  }

  /** The next leaf hash. */
  add(leaf: Uint8Array): void {
    this.#push(0, leaf)
  }

  /** Compares the tiles that are complete by now. */
  async compare(): Promise<void> {
    const due = this.#due
    this.#due = []
    const stored = await this.#check.records.get(due.map(({ level, index }) => logKeys.tile(level, index)))
    for (const [i, { level, index, bytes }] of due.entries()) {
      const key = logKeys.tile(level, index)
      const tile = stored[i]?.value
      if (tile === undefined) this.#check.differ('tile', key, 'This tile is missing')
      else if (!equalBytes(tile, bytes)) this.#check.differ('tile', key, 'It is not the tile of the log’s entries')
    }
  }

  /** The tiles at the right edge, and that there are no others. */
  async finish(size: number): Promise<void> {
    for (const [level, row] of this.#rows.entries()) if (row.length > 0) this.#complete(level)
    await this.compare()
    const levels = tileLevelsOf(size)
    for (let level = 0; level < levels; level++) {
      const end = { gte: logKeys.tile(level, this.#indexes[level] ?? 0), lt: logKeys.tile(level + 1, 0) }
      for await (const { key } of this.#check.records.list(end))
        this.#check.differ('tile', key, 'The tree has no such tile')
    }
    const above = { gte: logKeys.tile(levels, 0), lt: logKeys.tiles().lt }
    for await (const { key } of this.#check.records.list(above))
      this.#check.differ('tile', key, 'The tree has no such tile')
  }

  #push(level: number, node: Uint8Array): void {
    const row = (this.#rows[level] ??= [])
    row.push(node)
    if (row.length < TILE_WIDTH) return
    const top = nodeAt(this.#complete(level), TILE_HEIGHT, 0) as Uint8Array
    this.#push(level + 1, top)
  }

  #complete(level: number): Uint8Array {
    const bytes = tileOf(this.#rows[level] as Uint8Array[])
    const index = this.#indexes[level] ?? 0
    this.#due.push({ level, index, bytes })
    this.#rows[level] = []
    this.#indexes[level] = index + 1
    return bytes
  }
}

/** A tile (core/log/tree/tile.ts) over its row 0. */
function tileOf(row: readonly Uint8Array[]): Uint8Array {
  const nodes: Uint8Array[] = []
  for (let current = row; current.length > 0;) {
    nodes.push(...current)
    const above: Uint8Array[] = []
    for (let i = 0; i + 1 < current.length; i += 2)
      above.push(nodeHash(current[i] as Uint8Array, current[i + 1] as Uint8Array))
    current = above
  }
  return concatBytes(...nodes.map((node) => node.subarray(0, HASH_BYTES)))
}
