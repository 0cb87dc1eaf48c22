import { TILE_WIDTH } from '../../core/log/index.ts'
import type { LogSource } from '../../core/verify/index.ts'
import type { Client } from '../client/index.ts'

/** Tiles that are requested at the same time. */
const AT_ONCE = 4

/** Reads a log over HTTP, tile by tile. */
export function openLogSource(registry: Client): LogSource {
  const read = async (from: number, to: number): Promise<readonly Uint8Array[]> => {
    const index = Math.floor(from / TILE_WIDTH)
    const start = index * TILE_WIDTH
    const lines = await registry.getOpenings({ tile: tilePath(index, to - start) })
    const openings = lines.split('\n').slice(from - start, -1)
    if (openings.length !== to - from) throw new Error(`the log returned a tile of another width at ${start}`)
    return openings.map((hex) => Buffer.from(hex, 'hex'))
  }
  return {
    checkpoint: () => registry.getCheckpoint(),
    bundle: async (txId) => JSON.stringify(await registry.getProof({ txId, format: 'bundle' })),
    async *openings(from, to) {
      const parts = tilesBetween(from, to)
      const ahead = parts.splice(0, AT_ONCE).map(([start, end]) => read(start, end))
      // A later request may fail before its turn to be awaited.
      for (const each of ahead) each.catch(() => undefined)
      for (let next = ahead.shift(); next !== undefined; next = ahead.shift()) {
        yield await next
        const [part] = parts.splice(0, 1)
        if (part === undefined) continue
        const later = read(...part)
        later.catch(() => undefined)
        ahead.push(later)
      }
    },
  }
}

/** The parts of tiles that hold these entries. */
function tilesBetween(from: number, to: number): (readonly [from: number, to: number])[] {
  const parts: (readonly [number, number])[] = []
  for (let at = from; at < to;) {
    const end = Math.min(to, (Math.floor(at / TILE_WIDTH) + 1) * TILE_WIDTH)
    parts.push([at, end])
    at = end
  }
  return parts
}

/** The path of a tile as C2SP tlog-tiles writes it. `width`: at most 256. */
function tilePath(index: number, width: number): string {
  const groups = [String(index % 1000).padStart(3, '0')]
  for (let rest = Math.floor(index / 1000); rest > 0; rest = Math.floor(rest / 1000))
    groups.unshift(`x${String(rest % 1000).padStart(3, '0')}`)
  return groups.join('/') + (width < TILE_WIDTH ? `.p/${width}` : '')
}
