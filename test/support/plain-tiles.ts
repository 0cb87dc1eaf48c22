import { concatBytes } from '../../core/bytes.ts'
import { leafHash, nodeHash } from '../../core/log/tree/hash.ts'
import type { RowKind } from '../../sealer/kernel/tiles.ts'
import { present } from './present.ts'

/** The slow reference for the kernel: the tiles over a row in the layout of core/log/tree/tile.ts, by node:crypto. */
export function plainTiles(row: Uint8Array, kind: RowKind): Uint8Array {
  const hashes = Array.from({ length: row.length / 32 }, (_, i) => row.subarray(i * 32, i * 32 + 32))
  const tiles: Uint8Array[] = []
  for (let first = 0; first < hashes.length; first += 256) {
    const piece = hashes.slice(first, first + 256)
    for (let level = kind === 'entries' ? piece.map(leafHash) : piece; level.length > 0; level = pairsOf(level))
      tiles.push(...level)
  }
  return concatBytes(...tiles)
}

const pairsOf = (hashes: readonly Uint8Array[]): Uint8Array[] =>
  Array.from({ length: hashes.length >> 1 }, (_, i) => nodeHash(present(hashes[2 * i]), present(hashes[2 * i + 1])))
