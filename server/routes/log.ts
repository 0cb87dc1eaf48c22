import type { Context } from 'koa'
import { RegistryError } from '../../core/errors.ts'
import type { Registry } from '../../core/api/registry.ts'
import { endpoint, type EndpointGroup } from '../contract/endpoint.ts'

/** A tile's place: `<N>[.p/<W>]` as C2SP tlog-tiles writes it. */
interface TilePlace {
  readonly index: number
  /** 256 for a full tile. */
  readonly width: number
}

const TILE_WIDTH = 256
/** Level 6 would take 2^56 entries. */
const MAX_LEVEL = 5

const notFound = (): RegistryError => new RegistryError('NOT_FOUND', 'The log has no such tile')

/** Groups of three digits, all but the last behind an `x`, none that only says zero in front; a width of 1 to 255. */
export function parseTilePlace(path: string): TilePlace | undefined {
  const [, groups, last, width] = /^((?:x\d{3}\/){0,4})(\d{3})(?:\.p\/([1-9]\d{0,2}))?$/.exec(path) ?? []
  if (last === undefined || groups === undefined || groups.startsWith('x000/') || Number(width ?? 0) >= TILE_WIDTH)
    return undefined
  return {
    index: Number(groups.replaceAll(/[x/]/g, '') + last),
    width: width === undefined ? TILE_WIDTH : Number(width),
  }
}

function placeOf(path: string): TilePlace {
  const place = parseTilePlace(path)
  if (place === undefined) throw notFound()
  return place
}

/** A tile never changes: a partial one's width is part of its name. */
function sendForEver(ctx: Context, contentType: string, content: Uint8Array | string | undefined): void {
  if (content === undefined) throw notFound()
  ctx.set('Content-Type', contentType)
  ctx.set('Cache-Control', 'public, max-age=31536000, immutable')
  ctx.body = typeof content === 'string' ? content : Buffer.from(content)
}

async function openings(registry: Registry, { index, width }: TilePlace): Promise<string | undefined> {
  const lines = await registry.proofs.openings(index, width)
  return lines?.map((line) => `${line}\n`).join('')
}

const OCTETS = 'application/octet-stream'
const N =
  "`N` is the tile's index in groups of three digits such as `x001/067`, with `.p/W` behind it for the first W of a partial one."

/** The log as C2SP tlog-tiles, and the openings of its entries for monitors. */
export const log: EndpointGroup = {
  tag: 'Log',
  description: 'The transparency log as C2SP tlog-tiles',
  endpoints: [
    endpoint({
      id: 'getCheckpoint',
      method: 'GET',
      path: '/log/checkpoint',
      access: 'public',
      summary: 'The newest signed checkpoint',
      answer: { media: 'text/plain; charset=utf-8', description: 'A C2SP signed note' },
      errors: ['NOT_FOUND'],
      async handle({ registry, ctx }) {
        const checkpoint = await registry.log.latestCheckpoint()
        if (checkpoint === undefined) throw new RegistryError('NOT_FOUND', 'Nothing is sealed yet')
        ctx.set('Content-Type', 'text/plain; charset=utf-8')
        ctx.set('Cache-Control', 'no-cache')
        ctx.body = checkpoint.note
      },
    }),
    endpoint({
      id: 'getEntries',
      method: 'GET',
      path: '/log/tile/entries/{N*}',
      access: 'public',
      summary: 'An entry bundle: each 32-byte entry behind its length in two bytes',
      description: N,
      answer: { media: OCTETS, description: 'An entry bundle' },
      errors: ['NOT_FOUND'],
      async handle({ registry, ctx, param }) {
        const { index, width } = placeOf(param('N'))
        sendForEver(ctx, OCTETS, await registry.log.entries(index, width))
      },
    }),
    endpoint({
      id: 'getOpenings',
      method: 'GET',
      path: '/log/tile/openings/{N*}',
      access: 'public',
      summary: 'The openings of the entries of a bundle, in hex, one a line',
      description: `An entry is the SHA-256 of its opening. ${N}`,
      answer: { media: 'text/plain; charset=utf-8', description: 'Lines of hex' },
      errors: ['NOT_FOUND'],
      async handle({ registry, ctx, param }) {
        sendForEver(ctx, 'text/plain; charset=utf-8', await openings(registry, placeOf(param('N'))))
      },
    }),
    endpoint({
      id: 'getTile',
      method: 'GET',
      path: '/log/tile/{L}/{N*}',
      access: 'public',
      summary: 'A tile: up to 256 hashes of level 8 × L',
      description: N,
      answer: { media: OCTETS, description: 'Packed hashes' },
      errors: ['NOT_FOUND'],
      async handle({ registry, ctx, param }) {
        const level = /^[0-5]$/.test(param('L')) ? Number(param('L')) : MAX_LEVEL + 1
        const { index, width } = placeOf(param('N'))
        if (level > MAX_LEVEL) throw notFound()
        sendForEver(ctx, OCTETS, await registry.log.tile(level, index, width))
      },
    }),
  ],
}
