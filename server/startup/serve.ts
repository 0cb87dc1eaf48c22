import { createApp, type App } from '../http/app.ts'
import { listen, type RunningServer } from '../http/listen.ts'
import { reasonOf } from '../../adapters/files/index.ts'
import type { ScrubStatus } from '../../core/ops/index.ts'
import type { Config } from '../settings/load.ts'
import type { createLogger } from './logger.ts'
import { orClose } from './open-parts.ts'
import type { OpenedRegistry } from './registry.ts'
import { configError } from '../settings/config-error.ts'

/** What is served. */
export interface ServeOptions {
  readonly config: Config
  readonly logger: ReturnType<typeof createLogger>
  readonly opened: OpenedRegistry
  /** See `AppOptions`. */
  readonly scrubStatus?: () => ScrubStatus | undefined
  /** See `AppOptions`. */
  readonly areFilesLost?: () => boolean
}

/** The servers of one process. */
export interface RunningService extends RunningServer {
  /** The address on which the service listens. */
  readonly url: string
  /** The address for clients. */
  readonly publicUrl: string
}

/** Listens at the address of the service, and at that of the metrics if it has its own. */
export async function serve({
  config,
  logger,
  opened,
  scrubStatus,
  areFilesLost,
}: ServeOptions): Promise<RunningService> {
  const { registry, stores, instruments, unsafeSettings = [], clockWatch, readings } = opened
  const app = createApp({
    ...config,
    registry,
    logger,
    instruments,
    clockProblem: () => clockWatch.problem,
    moreMetrics: readings.metrics(),
    serverReadings: () => readings.forUsers(),
    ...(config.scrubBytesPerSecond > 0 && scrubStatus && { scrubStatus }),
    isStorePoisoned: () => stores.records.isPoisoned(),
    ...(areFilesLost && { areFilesLost }),
    unsafeSettings,
  })
  return orClose(await listen(app, { ...config, logger }), async (server) => {
    const url = urlOf(config.host, server.port)
    const metrics = await listenForMetrics(app, config, logger)
    if (metrics !== undefined) logger.info({ address: config.metricsAddress, port: metrics.port }, 'serving /metrics')
    return {
      port: server.port,
      url,
      publicUrl: config.publicUrl ?? url,
      async close() {
        await server.close()
        await metrics?.close()
      },
    }
  })
}

const urlOf = (host: string, port: number): string => `http://${host.includes(':') ? `[${host}]` : host}:${port}`

/** A second server with the endpoints of the operator only. */
async function listenForMetrics(
  app: App,
  config: Config,
  logger: ServeOptions['logger'],
): Promise<RunningServer | undefined> {
  const { metricsAddress } = config
  if (metricsAddress === undefined) return undefined
  const colon = metricsAddress.lastIndexOf(':')
  const host = metricsAddress.slice(0, colon).replaceAll(/[[\]]/g, '')
  const port = Number(metricsAddress.slice(colon + 1))
  try {
    return await listen({ ...app, handle: app.handleOperations }, { ...config, host, port, logger })
  } catch (error) {
    const reason = reasonOf(error)
    // Without the cause: the advice for it is about the address of the service.
    throw configError(
      `EVIDENCE_METRICS_ADDRESS: cannot listen on ${metricsAddress} (${reason}). Stop the program that uses it, or ` +
        'choose another address of this machine',
    )
  }
}
