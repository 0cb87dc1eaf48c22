import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { writePrivateFile } from '../../adapters/files/index.ts'
import {
  parseStrictJson,
  startScrub,
  systemClock,
  type Clock,
  type Logger,
  type Scrub,
  type ScrubState,
} from '../../core/index.ts'
import { TILE_WIDTH } from '../../core/log/index.ts'
import type { Config } from '../settings/load.ts'
import type { OpenedRegistry } from './registry.ts'

/** Where the scrub continues after a restart. Without the file it begins again. */
const STATE_FILE = 'scrub.json'

export interface ConfiguredScrubOptions {
  readonly config: Pick<Config, 'dataDir' | 'readOnly' | 'scrubBytesPerSecond' | 'scrubIntervalMs'>
  readonly logger: Logger
  readonly opened: Pick<OpenedRegistry, 'registry' | 'stores'>
  readonly clock?: Clock
}

/** Starts the scrub of the settings. Returns `undefined` if they turn it off. */
export async function startConfiguredScrub({
  config,
  logger,
  opened: { registry, stores },
  clock = systemClock,
}: ConfiguredScrubOptions): Promise<Scrub | undefined> {
  if (config.scrubBytesPerSecond === 0) return undefined
  const { origin } = registry.log
  const path = join(resolve(config.dataDir), STATE_FILE)
  const state = await readState(path, origin)
  return startScrub({
    ...stores,
    origin,
    bytesPerSecond: config.scrubBytesPerSecond,
    intervalMs: config.scrubIntervalMs,
    clock,
    logger,
    save: async (next) => {
      if (!config.readOnly) await writePrivateFile(path, `${JSON.stringify({ origin, ...next })}\n`)
    },
    ...(state && { state }),
  })
}

/** A file that cannot be read, or that is about another registry, counts as missing: then the pass begins again. */
async function readState(path: string, origin: string): Promise<ScrubState | undefined> {
  try {
    const value: unknown = parseStrictJson(await readFile(path, 'utf8'))
    return isObject(value) && value['origin'] === origin ? stateIn(value) : undefined
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

function stateIn({ position, startedAt, differences, lastPass }: Readonly<Record<string, unknown>>) {
  const at = positionIn(position)
  if (at === undefined || !isCount(startedAt) || !isCount(differences)) return undefined
  return { position: at, startedAt, differences, lastPass: lastPassIn(lastPass) }
}

function positionIn(value: unknown): ScrubState['position'] | undefined {
  if (!isObject(value)) return undefined
  const { stage, from } = value
  // The scrub reads the log by tiles, so it continues where one begins.
  if (stage === 'log' && isCount(from) && from % TILE_WIDTH === 0) return { stage, from }
  if ((stage === 'records' || stage === 'blobs') && typeof from === 'string') return { stage, from }
  return undefined
}

function lastPassIn(value: unknown): ScrubState['lastPass'] {
  if (!isObject(value)) return null
  const { completedAt, differences } = value
  return isCount(completedAt) && isCount(differences) ? { completedAt, differences } : null
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
