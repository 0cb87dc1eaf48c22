import { equalBytes, toHex } from '../bytes.ts'
import { logKeys } from '../log/keys.ts'
import { LogReader } from '../log/reader.ts'
import type { TreeHeadRecord } from '../log/records.ts'
import { leafHash } from '../log/tree/hasher.ts'
import { buildTile, nodeAt, rowPrefix, TILE_HEIGHT, TILE_WIDTH, widthOf } from '../log/tree/tile.ts'
import type { Entry } from '../ports/index.ts'
import type { Check } from './check.ts'
import { checkOpenings, splitEntries } from './log.ts'

/** More levels of tiles than any log has: 256^6 is more than the safe integers count. */
const MAX_TILE_LEVELS = 6

/**
 * Checks the entries from position `from`, which is a multiple of 256, that one tile covers: their openings, the events
 * to which they refer, and the tiles above them. Returns how many entries there are. Fewer than 256 are the log's end,
 * where the tree's root is checked as well.
 *
 * The log may grow meanwhile. The size of the tree and the tiles are read from one snapshot, and before the entries.
 */
export async function checkLogPage(check: Check, from: number): Promise<number> {
  const path = tilePathOf(from)
  const [headEntry, ...tiles] = await check.records.get([logKeys.treeHead(), ...path.map(({ key }) => key)])
  const head = check.decode<TreeHeadRecord>('head', headEntry)
  const entries = splitEntries(await check.records.readLog(from, TILE_WIDTH))
  await checkOpenings(check, from, entries)
  const sealed = entries.slice(0, Math.max(0, (head?.size ?? 0) - from))
  checkTilePath(check, path, { tiles, leaves: sealed.map(leafHash) })
  if (entries.length < TILE_WIDTH && head !== undefined) await checkRoot(check, head)
  return entries.length
}

interface TileInPath {
  readonly key: string
  /** Position in row 0 of the tile above. */
  readonly offsetAbove: number
}

/** The tile over these entries, the tile above it, and so on. */
function tilePathOf(from: number): readonly TileInPath[] {
  const path: TileInPath[] = []
  let index = Math.floor(from / TILE_WIDTH)
  for (let level = 0; level < MAX_TILE_LEVELS; level++) {
    path.push({ key: logKeys.tile(level, index), offsetAbove: index % TILE_WIDTH })
    index = Math.floor(index / TILE_WIDTH)
  }
  return path
}

interface StoredPath {
  /** By level. */
  readonly tiles: readonly (Entry | undefined)[]
  /** Hashes of the sealed leaves. */
  readonly leaves: readonly Uint8Array[]
}

/** A tile above the first one is compared with the top of the tile below it, and with its own row 0. */
function checkTilePath(check: Check, path: readonly TileInPath[], { tiles, leaves }: StoredPath): void {
  if (leaves.length === 0) return
  let expected = buildTile(leaves)
  for (const [level, { key, offsetAbove }] of path.entries()) {
    const tile = tiles[level]?.value
    const message = tile === undefined ? 'This tile is missing' : "It is not the tile of the log's entries"
    check.expect(tile !== undefined && equalBytes(tile, expected), 'tile', key, message)
    const above = path[level + 1]
    const top = nodeAt(expected, TILE_HEIGHT, 0)
    if (top === undefined || above === undefined) return
    const tileAbove = tiles[level + 1]?.value
    const node = tileAbove && nodeAt(tileAbove, 0, offsetAbove)
    check.expect(node !== undefined && equalBytes(node, top), 'tile', above.key, 'It does not fit the tile below it')
    const rebuilt = tileAbove && rebuildTile(tileAbove)
    if (rebuilt === undefined) return
    expected = rebuilt
  }
}

/** Builds a tile again from its own row 0. */
function rebuildTile(tile: Uint8Array): Uint8Array | undefined {
  const width = widthOf(tile)
  if (width === undefined) return undefined
  return buildTile(splitEntries(rowPrefix(tile, width) ?? new Uint8Array()))
}

async function checkRoot(check: Check, { size, root }: TreeHeadRecord): Promise<void> {
  if (size === 0) return
  const key = logKeys.treeHead()
  await check.guardAsync('head', key, async () => {
    const stored = toHex(await new LogReader(check.records).rootAt(size))
    check.expect(stored === root, 'head', key, "The tree's root does not result from the stored tiles")
  })
}
