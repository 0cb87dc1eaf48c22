/** A tile of the log as its path names it. */
export interface TilePath {
  readonly index: number
  /** 256 for a full tile. */
  readonly width: number
}

const TILE_WIDTH = 256

/**
 * Reads `<N>[.p/<W>]` as C2SP tlog-tiles writes it: groups of three digits, `x` before all but the last, no superfluous
 * zero group at the start; W is 1 to 255.
 *
 * @returns `undefined` for any other text
 */
export function parseTilePath(path: string): TilePath | undefined {
  const [, groups, last, width] = /^((?:x\d{3}\/){0,4})(\d{3})(?:\.p\/([1-9]\d{0,2}))?$/.exec(path) ?? []
  if (last === undefined || groups === undefined || groups.startsWith('x000/') || Number(width ?? 0) >= TILE_WIDTH)
    return undefined
  return {
    index: Number(groups.replaceAll(/[x/]/g, '') + last),
    width: width === undefined ? TILE_WIDTH : Number(width),
  }
}
