import { equalBytes } from '../bytes.ts'
import { logKeys } from '../log/keys.ts'
import { buildTile, nodeAt, TILE_HEIGHT, TILE_WIDTH, tileLevelsOf } from '../log/tree/tile.ts'
import type { Range } from '../ports/index.ts'
import type { Check } from './check.ts'

interface ExpectedTile {
  readonly level: number
  readonly index: number
  readonly bytes: Uint8Array
}

/** The tile of each level that is not complete yet. */
interface OpenTile {
  index: number
  row: Uint8Array[]
}

/**
 * Builds every tile of a growing tree again, without the sealing engine, and compares it with the stored tile. Holds
 * one row for each level.
 */
export class TileCheck {
  readonly #check: Check
  readonly #levels: OpenTile[] = []
  #expected: ExpectedTile[] = []

  constructor(check: Check) {
    this.#check = check
  }

  /** Adds the next leaf hash. */
  add(leaf: Uint8Array): void {
    this.#push(0, leaf)
  }

  /** Compares the tiles that were completed since the last call. */
  async compare(): Promise<void> {
    const expected = this.#expected
    this.#expected = []
    const stored = await this.#check.records.get(expected.map(({ level, index }) => logKeys.tile(level, index)))
    for (const [i, { level, index, bytes }] of expected.entries()) {
      const key = logKeys.tile(level, index)
      const tile = stored[i]?.value
      const message = tile === undefined ? 'This tile is missing' : "It is not the tile of the log's entries"
      const isRight = tile !== undefined && equalBytes(tile, bytes)
      this.#check.expectDerived(isRight, { kind: 'tile', key, message, repair: bytes })
    }
  }

  /**
   * Compares the partial tiles at the right edge, and reports stored tiles that the tree of this size does not have.
   */
  async finish(size: number): Promise<void> {
    for (const [level, { row }] of this.#levels.entries()) if (row.length > 0) this.#complete(level)
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
    this.#expected.push({ level, index: open.index, bytes })
    open.row = []
    open.index += 1
    return bytes
  }
}
