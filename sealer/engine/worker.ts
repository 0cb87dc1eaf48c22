import { buildTiles, type RowKind } from './row.ts'

/** Whole tiles of a row, in and out through shared memory: nothing is copied between threads. */
export interface TileTask {
  readonly row: Uint8Array
  readonly kind: RowKind
  readonly out: Uint8Array
}

/** What piscina runs in a worker; it takes a default export only. */
export default function run({ row, kind, out }: TileTask): void {
  buildTiles(row, kind, out)
}
