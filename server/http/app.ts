import type { RequestListener } from 'node:http'
import type Router from '@koa/router'
import Koa from 'koa'
import { isRegistryError, type Logger, type Registry } from '../../core/index.ts'
import type { EndpointGroup } from '../contract/endpoint.ts'
import { openApiDocument } from '../contract/openapi.ts'
import { categories } from '../routes/categories.ts'
import { evidences } from '../routes/evidences.ts'
import { files } from '../routes/files.ts'
import { log } from '../routes/log.ts'
import { description, operations } from '../routes/operations.ts'
import { sourceSystems } from '../routes/source-systems.ts'
import { verification } from '../routes/verification.ts'
import { docsRouter } from './docs.ts'
import { rejectInvalidPaths, rejectUnrouted, respondWithErrors } from './error-middleware.ts'
import { createRouter } from './handle.ts'
import { allowAnyOrigin, allowOrigins, setSecurityHeaders } from './headers.ts'
import { Health } from './health.ts'
import { createInstruments, type Instruments } from './instruments.ts'
import { createMetrics } from './metrics.ts'
import { pathRules } from './path-rules.ts'
import { createRateLimiter } from './rate-limit.ts'
import type { RequestCounter } from './request-counter.ts'
import { requestLog } from './request-log.ts'
import { STREAM_LIMITS, type StreamLimits } from './stream-limits.ts'
import { Streams } from './streams.ts'

export const BASE_PATH = '/api/v1'
/** Version of the interface that the OpenAPI document describes. */
const API_VERSION = '1.0.0'

export interface AppOptions {
  readonly registry: Registry
  readonly logger: Logger
  /** Those with which the registry was opened. Default: `/metrics` shows nothing of stores and sealer steps. */
  readonly instruments?: Instruments
  /**
   * Address at which clients reach the service, without the base path and without a slash at its end. Called when it is
   * first needed, because a free port is known only after the server listens.
   */
  readonly publicUrl: () => string
  readonly maxFileBytes: number
  readonly maxFilesPerRequest: number
  /** How long a client may send no byte of a body that the server is reading. */
  readonly uploadIdleMs: number
  /** 0: no limit. */
  readonly rateLimitPerMinute: number
  /** Whether a proxy of ours sets X-Forwarded-For. */
  readonly trustProxy: boolean
  /** Origins whose scripts may use the keyed endpoints, such as `https://app.example`. Default: none. */
  readonly corsOrigins?: readonly string[]
  /** Counts requests for all servers of one registry. Default: each server counts its own. */
  readonly requestCounter?: RequestCounter
  /** Default: 2 at a time for each key, and 30 s without progress. */
  readonly streamLimits?: StreamLimits
}

/** One route, with its path parameters as `{NAME}`. */
export interface Route {
  readonly method: string
  readonly path: string
}

/** The service as a request listener, without types of Koa, so that programs which embed it need none. */
export interface App {
  readonly handle: RequestListener
  /** Every route, in the order in which they are matched. */
  readonly routes: readonly Route[]
  /** Begins the shutdown: `/readyz` returns 503, and clients are asked to close their connections. */
  stop(): void
  /** The OpenAPI 3.1 document. */
  document(): object
}

/** Serves the REST contract for a registry. The caller closes the registry. */
export function createApp({ registry, logger, instruments = createInstruments(), ...options }: AppOptions): App {
  const health = new Health(registry)
  const metrics = createMetrics(registry, instruments)
  const rootGroups = [operations({ health, metrics })]
  const groups: EndpointGroup[] = [
    categories,
    evidences,
    files,
    sourceSystems,
    verification,
    log,
    description(() => document()),
  ]
  const document = once(() =>
    openApiDocument({
      publicUrl: options.publicUrl(),
      basePath: BASE_PATH,
      version: API_VERSION,
      groups,
      rootGroups,
    }),
  )
  const rateLimit = createRateLimiter(options.rateLimitPerMinute, options.requestCounter)
  const limits = {
    maxFileBytes: options.maxFileBytes,
    maxFilesPerRequest: options.maxFilesPerRequest,
    idleMs: options.uploadIdleMs,
  }
  const streams = new Streams(options.streamLimits ?? STREAM_LIMITS)
  const rules = pathRules(groups, BASE_PATH)

  // Only the last forwarded address was seen by our own proxy. The addresses before it are the client's claim.
  const koa = new Koa({ proxy: options.trustProxy, maxIpsCount: 1 })
  koa.use(requestLog(logger))
  koa.use(metrics.middleware)
  koa.use(health.closeConnections)
  koa.use(setSecurityHeaders)
  koa.use(allowAnyOrigin(rules.isPublic))
  koa.use(allowOrigins(options.corsOrigins ?? [], rules.isPublic))
  koa.use(respondWithErrors({ logger, health, shapeOf: rules.errorShapeOf }))
  koa.use(rejectInvalidPaths)
  const routers = [
    ...rootGroups.map(({ endpoints }) =>
      createRouter(endpoints, '', { registry, limits, streams, rateLimit: noRateLimit }),
    ),
    ...groups.map(({ endpoints }) => createRouter(endpoints, BASE_PATH, { registry, limits, streams, rateLimit })),
    docsRouter(`${BASE_PATH}/openapi.json`.slice(1)),
  ]
  for (const router of routers) koa.use(router.routes())
  koa.use(rejectUnrouted)
  koa.on('error', (error: unknown) => logIncompleteResponse(error, logger))
  const handle = koa.callback()
  return {
    handle: (request, response) => void handle(request, response),
    routes: routers.flatMap(routesOf),
    stop: () => health.stop(),
    document,
  }
}

const noRateLimit = async (): Promise<void> => undefined

const routesOf = ({ stack }: Router): readonly Route[] =>
  stack.flatMap(({ methods, path }) =>
    methods.map((method) => ({ method, path: String(path).replaceAll(/[:*]([A-Za-z_]+)/g, '{$1}') })),
  )

/** Logs what failed after a response began: the client disconnected, or the stored bytes are not the recorded ones. */
function logIncompleteResponse(error: unknown, logger: Logger): void {
  if (isRegistryError(error)) logger.error({ err: error, code: error.code }, 'a response was cut off')
  else logger.debug({ err: error }, 'a client disconnected before its response was complete')
}

function once<T>(create: () => T): () => T {
  let result: { readonly value: T } | undefined
  return () => (result ??= { value: create() }).value
}
