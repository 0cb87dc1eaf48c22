import Type from '#typebox'
import { LogPolicy } from '../../core/schemas/index.ts'
import { PolicyQuery } from '../contract/bundles.ts'
import { endpoint, type EndpointGroup } from '../contract/endpoint.ts'
import { BatchPage, batchPage, BatchQuery, batchQuery, parseTilePath, type TilePath } from '../contract/log.ts'
import { bytes, json, type Reply } from '../contract/reply.ts'
import { WitnessList, witnessList } from '../contract/witnesses.ts'
import { HttpError } from '../contract/errors.ts'

/** Level 6 would need 2^56 entries. */
const LEVEL = /^[0-5]$/

const tileNotFound = (): HttpError => new HttpError('NOT_FOUND', 'The log has no such tile')

/** Throws `NOT_FOUND` for a path that names no tile. */
function tileOf(path: string): TilePath {
  const tile = parseTilePath(path)
  if (tile === undefined) throw tileNotFound()
  return tile
}

/** A tile never changes, because the width of a partial tile is part of its path. */
function immutable(contentType: string, content: Uint8Array | string | undefined): Reply {
  if (content === undefined) throw tileNotFound()
  return bytes(contentType, content, { cache: 'public, max-age=31536000, immutable' })
}

const TEXT = 'text/plain; charset=utf-8'
const OCTETS = 'application/octet-stream'
const N =
  "`N` is the tile's index in groups of three digits such as `x001/067`, followed by `.p/W` for the first W " +
  'of a partial tile.'

/** The log as C2SP tlog-tiles, and the openings of its entries for monitors. */
export const log: EndpointGroup = {
  tag: 'Log',
  description: 'The transparency log as C2SP tlog-tiles',
  endpoints: [
    endpoint({
      id: 'getPolicy',
      method: 'GET',
      path: '/log/policy',
      access: 'public',
      isUnmetered: true,
      summary: 'What a verifier pins: keys, witnesses, timestamp authorities, chains',
      description: 'Pin it once, from a source that you trust. `format=text` returns its C2SP tlog-policy lines alone.',
      query: PolicyQuery,
      response: { schema: LogPolicy, media: { [TEXT]: Type.String() } },
      async handle({ registry, query: { format = 'json' } }) {
        if (format === 'text') return bytes(TEXT, await registry.log.policyText())
        return json(await registry.log.policy())
      },
    }),
    endpoint({
      id: 'getCheckpoint',
      method: 'GET',
      path: '/log/checkpoint',
      access: 'public',
      isUnmetered: true,
      summary: 'The newest signed checkpoint, with the cosignatures of witnesses',
      description:
        'A signed note (C2SP tlog-checkpoint): of a log with witnesses the newest that they had time to cosign.',
      response: { media: TEXT, description: 'A C2SP signed note' },
      errors: ['NOT_FOUND'],
      async handle({ registry }) {
        const checkpoint = await registry.log.publishedCheckpoint()
        if (checkpoint === undefined) throw new HttpError('NOT_FOUND', 'Nothing is sealed yet')
        return bytes(TEXT, checkpoint)
      },
    }),
    endpoint({
      id: 'listBatches',
      method: 'GET',
      path: '/log/batches',
      access: 'public',
      summary: 'The sealed batches, newest first, each with the stamp and the anchor that cover it',
      description: 'To continue, send the id of the last batch that you have as `last`.',
      query: BatchQuery,
      response: { schema: BatchPage },
      errors: ['BATCH_NOT_FOUND'],
      handle: async ({ registry, query }) => json(batchPage(await registry.log.batches(batchQuery(query)))),
    }),
    endpoint({
      id: 'listWitnesses',
      method: 'GET',
      path: '/log/witnesses',
      access: 'public',
      isUnmetered: true,
      summary: 'The witnesses of the log, and what each has cosigned last',
      description: 'As this server knows them. `/log/policy` has their keys and their quorum.',
      response: { schema: WitnessList },
      handle: async ({ registry }) => json(witnessList(registry.status())),
    }),
    endpoint({
      id: 'getEntries',
      method: 'GET',
      path: '/log/tile/entries/{N*}',
      access: 'public',
      isUnmetered: true,
      summary: 'An entry bundle: each 32-byte entry after its length in two bytes',
      description: N,
      response: { media: OCTETS, description: 'An entry bundle' },
      errors: ['NOT_FOUND'],
      async handle({ registry, param }) {
        return immutable(OCTETS, await registry.log.entryBundle(tileOf(param('N'))))
      },
    }),
    endpoint({
      id: 'getOpenings',
      method: 'GET',
      path: '/log/tile/openings/{N*}',
      access: 'public',
      isUnmetered: true,
      summary: 'The openings of the entries of a bundle, in hex, one per line',
      description: `An entry is the SHA-256 of its opening. ${N}`,
      response: { media: TEXT, description: 'Lines of hex' },
      errors: ['NOT_FOUND'],
      async handle({ registry, param }) {
        const openings = await registry.log.openings(tileOf(param('N')))
        return immutable(TEXT, openings?.map((opening) => `${opening}\n`).join(''))
      },
    }),
    endpoint({
      id: 'getTile',
      method: 'GET',
      path: '/log/tile/{L}/{N*}',
      access: 'public',
      isUnmetered: true,
      summary: 'A tile: up to 256 hashes of level 8 × L',
      description: N,
      response: { media: OCTETS, description: 'Packed hashes' },
      errors: ['NOT_FOUND'],
      async handle({ registry, param }) {
        if (!LEVEL.test(param('L'))) throw tileNotFound()
        const tile = { level: Number(param('L')), ...tileOf(param('N')) }
        return immutable(OCTETS, await registry.log.tile(tile))
      },
    }),
  ],
}
