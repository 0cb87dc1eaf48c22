import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import Type from '#typebox'
import { writePrivateFile } from '../../adapters/files/index.ts'
import { systemClock, type Clock, type Logger } from '../../core/index.ts'
import { Scrub, type ScrubState } from '../../core/ops/index.ts'
import type { Config } from '../settings/load.ts'
import { readShape } from '../../core/schemas/index.ts'
import type { OpenedRegistry } from './registry.ts'

/** Where the scrub continues after a restart. Without the file it begins again. */
const STATE_FILE = 'scrub.json'

const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

const State = Type.Object({
  origin: Type.String(),
  position: Type.String(),
  startedAt: Count,
  differences: Count,
  lastPass: Type.Union([Type.Object({ completedAt: Count, differences: Count }), Type.Null()]),
})

/** The settings of the scrub, and the stores that it reads. */
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
  return new Scrub({
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
  const text = await readFile(path, 'utf8').catch(() => '')
  const state = readShape(State, text)
  return state?.origin === origin ? state : undefined
}
